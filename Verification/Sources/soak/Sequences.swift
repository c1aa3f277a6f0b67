import Channels

/// One sequence alone on a channel: read by two tasks at once, and by tasks that are cancelled one after the
/// other. Nothing is lost between them.
struct Sequences {
    let messagesEach: Int
    private static let posters = 2

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        let bound = random.isOne(in: 2) ? Int.random(in: 1...64, using: &random) : nil
        let buffering = bound.map { random.isOne(in: 2) ? BufferingPolicy.newest($0) : .oldest($0) } ?? .unbounded
        try await readByTwo(figures, buffering)
        try await readByOneAfterTheOther(figures, buffering)
    }

    /// Each of two readers gets its share in order; together they get everything.
    private func readByTwo(_ figures: Figures, _ buffering: BufferingPolicy) async throws {
        var channel: Channel<Message>? = Channel(onFault: { _ in figures.faults.add() })
        let messages = channel!.messages(buffering: buffering)
        let readers = (0..<2).map {
            Reader(messages, "sequence \(buffering), one of two readers \($0)", Self.posters, isBounded: true)
        }
        let reading = Task {
            await withTaskGroup { group in for reader in readers { group.addTask { await reader.readAll() } } }
        }
        let reached = await post(channel!)
        channel = nil
        await reading.value
        for reader in readers { try reader.checker.checkOrder(mayMiss: true) }
        try readers[0].checker.require(reached, Self.posters * messagesEach, "messages posted, of those accepted")
        let calls = readers.reduce(0) { $0 + $1.checker.calls }
        try readers[0].checker.require(
            reached,
            calls + messages.droppedCount,
            "read by both + dropped, of messages accepted"
        )
        figures.add("sequence, two readers", calls: calls, dropped: messages.droppedCount)
        figures.posts.add(Self.posters * messagesEach)
    }

    /// A reader that is cancelled leaves what it has not read to the next.
    private func readByOneAfterTheOther(_ figures: Figures, _ buffering: BufferingPolicy) async throws {
        var channel: Channel<Message>? = Channel(onFault: { _ in figures.faults.add() })
        let messages = channel!.messages(buffering: buffering)
        let reader = Reader(
            messages,
            "sequence \(buffering), readers cancelled one after the other",
            Self.posters,
            isBounded: buffering != .unbounded
        )
        let posting = Task { [channel = channel!] in await post(channel) }
        channel = nil
        for _ in 0..<50 {
            let reading = Task { await reader.readAll() }
            for _ in 0..<20 { await Task.yield() }
            reading.cancel()
            await reading.value
        }
        let reached = await posting.value
        await reader.readAll()
        try reader.check(posted: reached)
        figures.add(reader)
        figures.posts.add(Self.posters * messagesEach)
    }

    private func post(_ channel: Channel<Message>) async -> Int {
        let reached = Tally()
        await onThreads(Self.posters) { [messagesEach] index in
            var mine = 0
            for number in 0..<messagesEach { mine += channel.post(Message(poster: index, number: number)) }
            reached.add(mine)
        }
        return reached.value
    }
}
