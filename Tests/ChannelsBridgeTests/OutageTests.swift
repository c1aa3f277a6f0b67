import Channels
import ChannelsBridge
import ChannelsTesting
import Synchronization
import Testing

/// What is missing at a broker for a while, and what could only be read in part.
@Suite(.hangLimit)
struct OutageTests {
    private let broker = InMemoryBroker()

    @Test func aDurableRouteWaitsUntilItsSubjectIsStored() async throws {
        let isThere = Gate()
        let connections = Atomic<Int>(0)
        var later = AlteredTransport(broker)
        later.connects = { connections.add(1, ordering: .relaxed) }
        later.subscribes = { subscription in
            if !isThere.isOpen { throw BridgeError(.notStored, subject: subscription.pattern.text) }
        }
        let kitchen = await MiniProcess("kitchen", later, [.incoming(.ordered, durable: true)], waits: false)
        let (heard, token) = kitchen.recorder(.ordered)
        let status = await kitchen.bridge.status.first { $0.reason != nil }
        #expect(status?.phase == .connecting && status?.reason?.code == .notStored)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        #expect(await till.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        isThere.open()
        #expect(await heard.first(1).map(\.dish) == ["soup"])
        // On one connection, and told once.
        #expect(connections.load(ordering: .relaxed) == 1)
        #expect(kitchen.faults.all.count { "\($0)".contains("notStored") } == 1)
        try await kitchen.stop()
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aBridgeThatWaitsForAStreamEndsWhenItIsCancelled() async throws {
        var never = AlteredTransport(broker)
        never.subscribes = { _ in throw BridgeError(.notStored) }
        let kitchen = await MiniProcess("kitchen", never, [.incoming(.ordered, durable: true)], waits: false)
        _ = await kitchen.bridge.status.first { $0.reason != nil }
        try await kitchen.stop()
    }

    @Test func aDurablePostWaitsUntilItsSubjectIsStoredAndIsToldAtOnce() async throws {
        let isThere = Gate()
        var later = AlteredTransport(broker)
        later.publishes = { message in
            if !isThere.isOpen { throw BridgeError(.notStored, subject: message.subject) }
            return message
        }
        let till = await MiniProcess("till", later, [.outgoing(.ordered, durable: true)])
        async let report = till.board[.ordered].postAndWait(Order(dish: "soup"))
        await till.faults.wait { $0.contains { "\($0)".contains("notStored") } }
        isThere.open()
        #expect(await report.isComplete)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 1 && till.bridge.statistics.failed == 0)
    }

    @Test func whatCouldBeReadOnlyInPartIsALetterThatNobodyHears() async throws {
        let fed = Fed()
        let kitchen = await MiniProcess("kitchen", fed.transport, [.incoming(.sold, durable: true)])
        let (heard, token) = kitchen.recorder(.sold)
        let settled = Recorder<Settlement>()
        var inbound = InboundMessage(try .event(#"{"total":1}"#, to: "shop.sold"), identity: "1") {
            if let settlement = $0 { settled.record(settlement) }
        }
        inbound.problem = BridgeError(.invalidEnvelope, subject: "shop.sold", detail: "message 7 has no name")
        fed.transport.subscribers.all[0](inbound)
        #expect(await settled.first(1) == [.terminated])
        try await kitchen.stop()
        #expect(heard.count == 0 && kitchen.bridge.statistics.refused == 1)
        let letter = try #require(fed.transport.published.all.first)
        #expect(letter.subject == "dead.shop.sold" && letter.body == Array(#"{"total":1}"#.utf8))
        #expect(letter.headers["dead-letter-reason"]?.contains("message%207%20has%20no%20name") == true)
        withExtendedLifetime(token) {}
    }

    /// Otherwise it goes on for as long as the cause is not mended.
    @Test func onlyTheLettersThatThereAreArePutBack() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: .quick.with { $0.failureLimit = 1 }
        )
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        for dish in ["soup", "bread", "cake"] {
            #expect(await till.board[.ordered].postAndWait(Order(dish: dish)).isComplete)
        }
        _ = await kitchen.deadLetters.first(3)
        #expect(try await DeadLetterBox("dead").putBack(over: InMemoryTransport(broker)) == 3)
        _ = await kitchen.deadLetters.first(6)
        try await kitchen.stop()
        try await till.stop()
        #expect(kitchen.deadLetters.count == 6)
        withExtendedLifetime(token) {}
    }
}
