import Channels

nonisolated func start(_ till: Till) -> [ListenerToken] {
    [
        till.sold.listen { sale in
            // expect: value of type 'Sale' has no member 'totl'
            print(sale.totl)
        },
        till.sold.listen { sale in
            // expect: value of type 'Sale' has no member 'totl'
            await show(sale.totl)
        },
    ]
}

nonisolated func show(_ total: Int) async {}
