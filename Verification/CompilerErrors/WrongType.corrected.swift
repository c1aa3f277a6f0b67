import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display) { me, sale in
        let price = "\(sale.total) euros"
        let text = sale.article + ": " + price
        me.note(text)
        if sale.total > 100 { me.note("\(sale.total)") }
        me.show(sale)
    }
}
