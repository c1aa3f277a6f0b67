struct Index: Sendable {
    func find(_ text: String) async throws -> [String] { [text] }
}

struct Form: Sendable { var text = "" }

let index = Index()
let form = StateChannel(Form())
let typed = Channel<String>()
@MainActor let field = SearchField(typed, search: { _ in [] })

@MainActor final class Page {
    func lookUp(_ text: String) async -> [String] { [text] }
    func show(_ found: [String]) {}
}
