import Channels

// What the mistakes are made with. Compiled with each of them, under both default isolations: hence every
// isolation is spelt out.

nonisolated struct Sale: Sendable {
    let article: String
    let total: Int
}

nonisolated final class Till: Sendable {
    let sold = Channel<Sale>()
    let opened = Channel<Void>()
    let moved = Channel<(Int, String)>()
    let count = StateChannel(0)
}

nonisolated final class Display: Sendable {
    func note(_ text: String) {}
    func show(_ sale: Sale) {}
    func check(_ sale: Sale) throws {}
    func store(_ sale: Sale) async throws {}
}

@MainActor
final class Screen {
    var label = ""
    func show(_ sale: Sale) { label = sale.article }
    func load(_ sale: Sale) async throws {}
}

/// A class that is not Sendable.
nonisolated final class Notebook {
    var lines: [String] = []
}

/// What the time of an error in a closure is compared with.
nonisolated func plain(_ owner: Display, _ body: @escaping @Sendable (Display, Sale) -> Void) {}
