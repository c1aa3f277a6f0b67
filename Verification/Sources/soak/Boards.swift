import Channels

/// Posters on many names of one switchboard, listeners on the names and on patterns, and observers of a
/// protocol.
struct Boards {
    let messagesEach: Int
    private static let posters = 2
    private static let names = 8

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        let board = Switchboard(onFault: { _ in figures.faults.add() })
        let names = try (0..<Self.names).map { try ChannelName<Message>(validating: "soak.place\($0)") }
        let desk = Desk()
        let passing: [ChannelName<Int>] = ["passing.name0", "passing.name1"]
        // A pattern hears every poster's messages in order, also across names.
        let plain = Checker("pattern listener", isSerial: false, posters: Self.posters)
        let byName = names.map { Checker("listener on \($0)", isSerial: true, posters: Self.posters) }
        var tokens = [
            board[matching: "soak.*"].listen { post in
                if let message = post.message as? Message { plain.note(message) }
            }
        ]
        for (name, checker) in zip(names, byName) {
            tokens.append(board[name].listen(desk) { (_: isolated Desk, message) in checker.note(message) })
        }
        let observer = Observer(Checker("observer of a protocol", isSerial: false, posters: Self.posters))
        board.add(observer, for: (any Hearing).self)
        let reached = Tally()
        await onThreads(Self.posters) { [messagesEach] index in
            var mine = 0
            for number in 0..<messagesEach {
                let message = Message(poster: index, number: number)
                mine += board[names[number % Self.names]].post(message)
                mine += board.notify((any Hearing).self) { $0.hear(message) }
                // Listeners of other names and patterns come and go.
                if number % 64 == 0 { board[matching: "other.>"].listen { _ in }.cancel() }
                if number % 64 == 32 { board[passing[index]].listen { _ in }.cancel() }
            }
            reached.add(mine)
        }
        for token in tokens { try await plain.wait(for: token) }
        for token in tokens { await token.cancelAndWait() }
        for checker in [plain, observer.checker] {
            try checker.checkOrder(mayMiss: false)
            try checker.checkAllCame(each: messagesEach)
        }
        for checker in byName { try checker.checkOrder(mayMiss: true) }
        let calls = byName.reduce(0) { $0 + $1.calls }
        try plain.require(Self.posters * messagesEach, calls, "calls of the listeners on all names together")
        try plain.require(
            reached.value,
            calls + plain.calls + observer.checker.calls,
            "calls in all, of those that posts reached"
        )
        figures.add("switchboard, names", calls: calls)
        figures.add("switchboard, pattern", calls: plain.calls)
        figures.add("switchboard, protocol", calls: observer.checker.calls)
        figures.posts.add(2 * Self.posters * messagesEach)
        withExtendedLifetime((desk, observer)) {}
    }
}

private protocol Hearing: AnyObject, Sendable {
    func hear(_ message: Message)
}

private final class Observer: Hearing {
    let checker: Checker
    init(_ checker: Checker) { self.checker = checker }
    func hear(_ message: Message) { checker.note(message) }
}
