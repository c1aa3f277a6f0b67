import Channels
import Dispatch
import Foundation

/// Several channels and a state for each poster, whose listeners share an actor or a queue, a pattern that matches them all,
/// and listeners whose buffers are full: what one thread posts is heard in the order it posted, whichever way it took.
struct Lanes {
    let messagesEach: Int
    private static let posters = 3
    private static let channels = 4

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        let board = Switchboard(onFault: { _ in figures.faults.add() })
        // Of its own, because a value that waits for another thread's takes its place when its turn comes.
        let states = try (0..<Self.posters).map {
            try board.state("lane.state\($0)", of: Message.self, initial: Message(poster: 0, number: -1))
        }
        let channels = try (0..<Self.channels).map { try board.channel("lane.channel\($0)", of: Message.self) }
        let desk = Desk()
        let queue = DispatchQueue(label: "soak.lane")
        // One checker a lane: the numbers of a poster run through all channels and its state.
        let names = ["actor", "main actor", "queue"]
        let kinds = names + names.map { "\($0), by a pattern" } + names.map { "\($0), with full buffers" }
        let places = kinds.map { Checker("lane of one \($0)", isSerial: true, posters: Self.posters) }
        var tokens: [ListenerToken] = []
        func listen(to source: some Listenable<Message>) {
            let note: (Int) -> @Sendable (Message) -> Void = { [places] index in
                { if $0.number >= 0 { places[index].note($0) } }
            }
            tokens.append(source.listen(desk) { [note = note(0)] (_: isolated Desk, message) in note(message) })
            tokens.append(source.listen { @MainActor [note = note(1)] message in note(message) })
            tokens.append(source.listen(on: queue) { [note = note(2)] in note($0) })
        }
        for channel in channels { listen(to: channel) }
        for state in states { listen(to: state) }
        let pattern = board[matching: "lane.*"]
        let note: (Int) -> @Sendable (Posted<any Sendable>) -> Void = { [places] index in
            { if let message = $0.message as? Message { places[index].note(message) } }
        }
        tokens.append(pattern.listen(desk) { [note = note(3)] (_: isolated Desk, post) in note(post) })
        tokens.append(pattern.listen { @MainActor [note = note(4)] post in note(post) })
        tokens.append(pattern.listen(on: queue) { [note = note(5)] in note($0) })
        // What is dropped leaves the others their place, among those on another channel, too.
        for (channel, buffering) in zip(channels, [.oldest(2), .oldest(3), .unbounded] as [BufferingPolicy]) {
            let note: (Int) -> @Sendable (Message) -> Void = { [places] index in { places[index].note($0) } }
            tokens.append(
                channel.listen(desk, buffering: buffering) { [note = note(6)] (_: isolated Desk, message) in
                    note(message)
                }
            )
            tokens.append(channel.listen(buffering: buffering) { @MainActor [note = note(7)] message in note(message) })
            tokens.append(channel.listen(on: queue, buffering: buffering) { [note = note(8)] in note($0) })
        }
        let before = residentBytes()
        let peak = await post(to: channels, states, desk, queue, random.next())
        for token in tokens { try await places[0].wait(for: token) }
        for token in tokens { await token.cancelAndWait() }
        for (index, place) in places.enumerated() {
            let mayMiss = index >= 2 * names.count
            try place.checkOrder(mayMiss: mayMiss)
            if !mayMiss { try place.checkAllCame(each: messagesEach) }
            figures.add(place.name, calls: place.calls)
        }
        let accounted = tokens.reduce(0) { $0 + $1.deliveredCount }
        let calls = places.reduce(0) { $0 + $1.calls }
        // Each listener of a state hears its first value, too.
        try places[0].require(
            calls + names.count * states.count,
            accounted,
            "messages counted as delivered, of those heard"
        )
        // What waits, and is dropped or cancelled beside it: far below what was posted in all.
        let most = 256 << 20
        try places[0].require(0, max(0, peak - before - most), "bytes in use beyond 256 MB")
        figures.posts.add(Self.posters * messagesEach)
    }

    /// Posts from every thread, beside one that registers, feeds and cancels listeners of the same lanes.
    ///
    /// - Returns: The most memory that was in use.
    private func post(
        to channels: [Channel<Message>],
        _ states: [StateChannel<Message>],
        _ desk: Desk,
        _ queue: DispatchQueue,
        _ seed: UInt64
    ) async -> Int {
        let (ended, peak) = (Tally(), Locked(0))
        let passing = Channel<Int>()
        await onThreads(Self.posters + 1) { [messagesEach] index in
            var random = SeededGenerator(seed: Int(truncatingIfNeeded: seed) &+ index)
            guard index < Self.posters else {
                while ended.value < Self.posters {
                    let token =
                        switch Int.random(in: 0..<3, using: &random) {
                        case 0: passing.listen(desk) { (_: isolated Desk, _) in }
                        case 1: passing.listen(on: queue, buffering: .newest(1)) { _ in }
                        default: passing.listen(buffering: .oldest(1)) { @MainActor _ in }
                        }
                    for number in 0..<Int.random(in: 0..<20, using: &random) { passing.post(number) }
                    token.cancel()
                    peak.withLock { $0 = max($0, residentBytes()) }
                }
                return
            }
            // Drawn before: posters that do nothing else meet more often.
            let choices = (0..<1_024).map { _ in Int.random(in: 0...Self.channels, using: &random) }
            for number in 0..<messagesEach {
                let message = Message(poster: index, number: number)
                let choice = choices[number % choices.count]
                if choice < Self.channels { channels[choice].post(message) } else { states[index].set(message) }
            }
            ended.add()
        }
        return peak.withLock { $0 }
    }
}

/// The memory of the process that is in use; 0 where the system does not say.
private func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4_096
}
