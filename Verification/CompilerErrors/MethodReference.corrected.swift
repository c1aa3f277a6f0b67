import Channels

nonisolated final class Board: Sendable {
    func show(_ sale: Sale) {}

    func start(_ till: Till) {
        till.sold.listen(self) { me, sale in me.show(sale) }
    }
}

@MainActor
final class View {
    func show(_ sale: Sale) async throws {}

    func start(_ till: Till) {
        till.sold.listen(self, once: true) { me, sale in try await me.show(sale) }
    }
}

actor Kitchen {
    func cook(_ sale: Sale) {}

    func start(_ till: Till) {
        till.sold.listen(self) { me, sale in me.cook(sale) }
    }
}

nonisolated func withClosure(_ till: Till, _ display: Display) {
    till.sold.listen(display, priority: .high) { me, sale in me.show(sale) }
}
