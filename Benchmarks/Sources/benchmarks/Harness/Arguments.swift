/// What the command line asks for.
struct Arguments {
    /// `time`, `allocations`, `count`, or `list`.
    var mode = "time"
    /// Texts of which a case's name must contain one; every case when empty.
    var filters: [String] = []
    /// How many times each case is measured.
    var rounds = 60
    /// Where the figures go.
    var json: String?
    /// What the names of the times begin with.
    var kind = "ns"
    /// Whether every post does a little more than it should, to show that the thresholds notice.
    var isPlanted = false

    static let usage = """
        usage: benchmarks [time|allocations|list] [--rounds N] [--json FILE] [--kind KIND] [NAME …]
               benchmarks count CASE LISTENERS POSTS
        KIND is what the names of the times begin with, in place of `ns`.
        NAME is a part of a case's name, or the whole of it after `=`. `count` only runs the posts: its instructions are counted from outside.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        if let first = rest.first, ["time", "allocations", "list", "count"].contains(first) {
            mode = first
            rest = rest.dropFirst()
        }
        while let word = rest.popFirst() {
            switch word {
            case "--rounds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else { return nil }
                rounds = number
            case "--kind":
                guard let word = rest.popFirst() else { return nil }
                kind = word
            case "--json":
                guard let file = rest.popFirst() else { return nil }
                json = file
            default:
                if word.hasPrefix("-") { return nil }
                filters.append(word)
            }
        }
    }

    func wants(_ name: String) -> Bool {
        filters.isEmpty || filters.contains { $0.hasPrefix("=") ? name == $0.dropFirst() : name.contains($0) }
    }
}
