/// Every case, in the order in which they are measured.
enum Cases {
    static var all: [Case] {
        Floors.cases + Peers.cases + Posting.cases + Measured.cases + Names.cases + Registering.cases + Streams.cases
            + Mailboxes.cases
            + Threads.cases
            + Growth.cases
    }

    /// The case of a name with a number of listeners.
    static func counted(_ name: String, _ listeners: Int) -> Case? {
        all.first { $0.name == "\(name)/\(listeners)" }
    }
}
