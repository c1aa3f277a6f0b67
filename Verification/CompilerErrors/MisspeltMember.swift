import Channels

// time: at most 4 times a plain function
nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display) { me, sale in
        let price = "\(sale.total) euros"
        let text = sale.article + ": " + price
        me.note(text)
        if sale.total > 100 { me.note("large") }
        // expect: value of type 'Display' has no member 'shwo'
        me.shwo(sale)
    }
}
