import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

/// What a bridge uses of a switchboard.
struct BridgingTests {
    private let board = Switchboard(onFault: { _ in })
    private let name = ChannelName<Int>("bridging.number")
    private let origin = MessageOrigin.remote("elsewhere")

    private func deliver(_ message: Int, onEnd: @escaping @Sendable () -> Void) async throws {
        _ = try await board.deliver(message, to: name, from: origin, onEnd: onEnd)
    }

    @Test func whoDoesNotWaitIsToldOnceWhenEveryListenerHasFinished() async throws {
        let queue = DispatchQueue.suspended()
        let heard = Recorder<String>()
        let ended = Tally()
        let tokens = [
            board[name].posts.listen { heard.record("\($0.message) \($0.origin)") },
            board[name].listen(on: queue) { _ in heard.record("queue") },
        ]
        try await deliver(1) { ended.add() }
        #expect(heard.all == ["1 \(origin)"] && ended.value == 0)
        queue.resume()
        await ended.wait(until: 1)
        await queue.settle()
        #expect(heard.count == 2 && ended.value == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test func whereNobodyListensItIsToldAtOnce() async throws {
        let ended = Tally()
        try await deliver(1) { ended.add() }
        #expect(ended.value == 1)
        let channel = board.channel(name)
        try await deliver(2) { ended.add() }
        #expect(ended.value == 2 && channel.isEmpty)
        // A channel is made where only a pattern listens.
        let heard = Recorder<String>()
        let token = board[matching: "bridging.*"].listen { heard.record("\($0.message) \($0.origin)") }
        _ = channel
        try await deliver(3) { ended.add() }
        #expect(ended.value == 3 && heard.all == ["3 \(origin)"])
        withExtendedLifetime(token) {}
    }

    /// Without a handler, the first of each is written.
    @Test func faultsOfABridgeAreCountedByTheKindOfTheirError() {
        let counts = Recorder<Int>()
        let board = Switchboard(onFault: { counts.record($0.count) })
        for cause in ["undecodable", "unknownType", "undecodable"] {
            board.reportBridgeFault(cause, on: "bridging.number", error: CancellationError())
        }
        #expect(counts.all == [1, 1, 2])
    }

    @Test func aMessageOfAnotherTypeIsAnError() async {
        let other = board.channel("bridging.number" as ChannelName<String>)
        await #expect(throws: ChannelError.self) { try await deliver(1) {} }
        withExtendedLifetime(other) {}
    }

    @Test func aValueSetElsewhereIsHeardWithItsOrigin() {
        let state = StateChannel(0)
        let heard = Recorder<String>()
        let token = state.posts.listen { heard.record("\($0.message) \($0.origin)") }
        state.set(1, from: origin)
        state.set(2)
        #expect(state.value == 2)
        #expect(heard.all == ["0 \(MessageOrigin.local)", "1 \(origin)", "2 \(MessageOrigin.local)"])
        withExtendedLifetime(token) {}
    }

    /// Also where it is recorded: as a value that was set, or not at all.
    @Test(arguments: [Switchboard.Diagnostics.off, .trace])
    func anInitialValueOfAnotherProcessIsTakenUntilTheStateIsSet(_ diagnostics: Switchboard.Diagnostics) throws {
        board.diagnostics = diagnostics
        let state = board.state(StateName<Int>("bridging.state"), initial: 0)
        let heard = Recorder(of: state)
        #expect(!state.wasSet && state.setInitial(1, from: origin) && !state.wasSet)
        #expect(state.setInitial(2, from: origin) && heard.all == [0, 1, 2])
        state.set(3)
        #expect(state.wasSet && !state.setInitial(4, from: origin) && state.value == 3)
        #expect(heard.all == [0, 1, 2, 3])
        let shown = try #require(board.snapshot().channels.first { $0.name == "bridging.state" })
        #expect(shown.postCount == (diagnostics == .off ? nil : 3))
    }

    /// On the poster's thread, what the intake returns, and in order.
    @Test func aBridgeHearsWhatItsIntakeTakes() async {
        let heard = Recorder<String>()
        let token = board.listenForBridge(
            matching: "bridging.*",
            buffering: .unbounded,
            intake: { name, message in (message as? Int).flatMap { $0 % 2 == 0 ? "\(name) \($0)" : nil } },
            { name, taken in heard.record("\(name): \(taken)") }
        )
        for number in 0..<6 { board[name].post(number) }
        let expected = [0, 2, 4].map { "bridging.number: bridging.number \($0)" }
        #expect(await heard.wait(count: 3) == expected)
        withExtendedLifetime(token) {}
    }

    /// A sequence is not waited for: its message is in its buffer.
    @Test func theEndIsToldOnceWhereNobodyIsWaitedFor() async throws {
        let messages = [board[name].messages(), board[name].messages()]
        let ends = Tally()
        try await deliver(1) { ends.add() }
        #expect(ends.value == 1 && messages.allSatisfy { $0.waitingCount == 1 })
    }

    @Test func onAQueuedChannelWhoDoesNotWaitIsToldAfterwards() {
        let channel = Channel<Int>(reentrancy: .queued)
        let events = Recorder<String>()
        let token = channel.listen { message in
            events.record("\(message) begins")
            if message == 1 { channel.post(2, from: .remote("elsewhere")) { events.record("told") } }
            events.record("\(message) ends")
        }
        channel.post(1)
        #expect(events.all == ["1 begins", "1 ends", "2 begins", "2 ends", "told"])
        withExtendedLifetime(token) {}
    }
}
