import Channels

nonisolated struct Panel: Sendable {
    func show(_ sale: Sale) {}

    func start(_ till: Till) -> ListenerToken {
        till.sold.listen { sale in show(sale) }
    }

    func startOnQueue(_ till: Till) -> ListenerToken {
        till.sold.listen(on: .main) { sale in show(sale) }
    }
}
