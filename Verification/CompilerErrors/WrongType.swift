import Channels

// time: at most 4 times a plain function
nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display) { me, sale in
        let price = "\(sale.total) euros"
        let text = sale.article + ": " + price
        me.note(text)
        // expect: cannot convert value of type 'Int' to expected argument type 'String'
        if sale.total > 100 { me.note(sale.total) }
        me.show(sale)
    }
}
