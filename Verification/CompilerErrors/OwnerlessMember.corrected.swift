import Channels

nonisolated func start(_ till: Till) -> [ListenerToken] {
    [
        till.sold.listen { sale in print(sale.total) },
        till.sold.listen { sale in await show(sale.total) },
    ]
}

nonisolated func show(_ total: Int) async {}
