import Channels

nonisolated final class Board: Sendable {
    func show(_ sale: Sale) {}

    func start(_ till: Till) {
        // expect: pass a closure that takes the owner: 'listen(owner) { me, message in me.method(message) }'
        till.sold.listen(self, self.show)
    }
}

@MainActor
final class View {
    func show(_ sale: Sale) async throws {}

    func start(_ till: Till) {
        // expect: pass a closure that takes the owner
        till.sold.listen(self, once: true, show)
    }
}

actor Kitchen {
    func cook(_ sale: Sale) {}

    func start(_ till: Till) {
        // expect: pass a closure that takes the owner
        till.sold.listen(self, cook)
    }
}

nonisolated func withoutClosure(_ till: Till, _ display: Display) {
    // expect: pass a closure that takes the owner
    till.sold.listen(display, priority: .high)
}
