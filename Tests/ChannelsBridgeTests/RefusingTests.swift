import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Transports that store a dead letter and remove its message in one transaction.
@Suite(.hangLimit)
struct RefusingTests {
    /// What the transport is asked to store, and what becomes of it.
    private let letters = Recorder<TransportMessage>()
    private let settled = Recorder<Settlement>()
    private let transport = FedTransport()

    private struct Context: DeliveryContext {
        let isSettledByListener: Bool
    }

    private func process() async -> MiniProcess {
        await MiniProcess(
            "kitchen",
            transport,
            [.incoming(.ordered, durable: true)],
            configuration: .quick.with { ($0.deadLetters, $0.failureLimit) = ("dead", 1) }
        )
    }

    /// Delivers an order whose listener throws.
    private func deliver(
        settledByListener: Bool = false,
        _ refuse: @escaping @Sendable (_ attempt: Int) throws -> Bool
    ) async throws {
        let message = try TransportMessage.event(#"{"dish":"soup"}"#, to: "kitchen.ordered", type: "Order")
        var inbound = InboundMessage(message, identity: "1") { [settled] in
            if let settlement = $0 { settled.record(settlement) }
        }
        inbound.context = Context(isSettledByListener: settledByListener)
        inbound.refuse = { [letters] letter in
            letters.record(letter)
            return try refuse(letters.count)
        }
        await transport.subscribers.first(1)[0](inbound)
    }

    @Test func theLetterIsStoredByTheTransactionThatRemovesItsMessage() async throws {
        let kitchen = await process()
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        try await deliver { _ in true }
        #expect(await settled.first(1) == [.terminated])
        try await kitchen.stop()
        let letter = try #require(letters.all.first)
        #expect(letter.subject == "dead.kitchen.ordered" && letter.headers["dead-letter-id"] == "1")
        #expect(letters.count == 1 && transport.published.count == 0 && kitchen.deadLetters.count == 1)
        #expect(kitchen.bridge.statistics.refused == 1)
        withExtendedLifetime(token) {}
    }

    /// The listener has committed it and thrown afterwards, or committed it while it counted as late.
    @Test(arguments: [true, false])
    func whatHasBeenSettledOtherwiseLeavesNoLetter(_ isSettledByListener: Bool) async throws {
        let kitchen = await process()
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        try await deliver(settledByListener: isSettledByListener) { _ in false }
        _ = await letters.first(1)
        try await kitchen.stop()
        #expect(kitchen.deadLetters.count == 0 && transport.published.count == 0)
        #expect(!kitchen.faults.all.contains { "\($0)".contains("tooManyFailures") })
        let statistics = kitchen.bridge.statistics
        #expect(statistics.refused == 0 && statistics.retried == 0)
        #expect(statistics.received == (isSettledByListener ? 1 : 0))
        #expect(statistics.unfinished == (isSettledByListener ? 0 : 1))
        withExtendedLifetime(token) {}
    }

    @Test func aMessageComesAgainIfTheTransactionFails() async throws {
        let kitchen = await process()
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        try await deliver { _ in throw BridgeError(.notConnected) }
        #expect(await settled.first(1) == [.retry(after: .zero)])
        try await kitchen.stop()
        #expect(kitchen.deadLetters.count == 0 && kitchen.bridge.statistics.retried == 1)
        withExtendedLifetime(token) {}
    }

    @Test func aLetterThatIsTooLargeIsTriedWithoutWhatOnlyExplainsIt() async throws {
        let kitchen = await process()
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        try await deliver { attempt in
            if attempt == 1 { throw BridgeError(.payloadTooLarge) }
            return true
        }
        #expect(await settled.first(1) == [.terminated])
        try await kitchen.stop()
        #expect(letters.all.map { $0.headers["dead-letter-reason"] != nil } == [true, false])
        #expect(kitchen.deadLetters.count == 1)
        withExtendedLifetime(token) {}
    }
}
