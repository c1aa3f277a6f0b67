import Channels

/// Inside one isolation domain, a local channel takes any class as owner.
nonisolated func start(_ sold: LocalChannel<Sale>, _ notebook: Notebook) {
    sold.listen(notebook) { me, sale in me.lines.append(sale.article) }
}

/// Across domains, the owner has one: a global actor makes its class Sendable.
@MainActor
final class Book {
    var lines: [String] = []

    func start(_ till: Till) {
        till.sold.listen(self) { me, sale in me.lines.append(sale.article) }
    }
}
