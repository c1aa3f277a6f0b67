import ChannelsTesting
import Testing

@testable import Channels
@testable import ChannelsBridge

/// What becomes of durable messages that keep failing, if nothing is configured.
@Suite(.hangLimit)
struct DefaultTests {
    private let broker = InMemoryBroker()

    /// A listener whose database is away for an hour.
    @Test func aMessageIsTriedForAnHourAndThenKept() async throws {
        let fed = Fed()
        let board = Switchboard(onFault: { _ in })
        let token = board[.sold].listen { (sale: Sale) throws in if sale.total == 1 { throw Trouble() } }
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: fed.transport,
            routes: [.incoming(.sold, durable: true)]
        )
        fed.reference.bridge = bridge
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        var delays: [Duration] = []
        while true {
            try fed.deliver(#"{"total":1}"#, id: "7", delivery: delays.count + 1)
            guard case .retry(let delay) = await fed.next(delays.count * 2 + 1).settlement else { break }
            delays.append(delay)
            // Others succeed: where all fail, the route pauses.
            try fed.deliver(#"{"total":2}"#, id: "good-\(delays.count)")
            _ = await fed.next(delays.count * 2)
        }
        #expect(
            delays.prefix(5) == [
                .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800), .milliseconds(1_600),
            ]
        )
        #expect(delays.last == .seconds(300))
        #expect((.seconds(3_600) ..< .seconds(7_200)).contains(delays.reduce(.zero, +)))
        #expect(fed.settled.all.last?.settlement == .terminated)
        let letter = try #require(fed.transport.published.all.first)
        #expect(letter.subject == "dead.shop.sold" && letter.headers["dead-letter-name"] == "kitchen")
        running.cancel()
        try await running.value
        withExtendedLifetime(token) {}
    }

    @Test(arguments: [BridgeError.Code.payloadTooLarge, .unsupported, .permissionDenied])
    func withoutAHandlerAMessageWhoseLetterCannotBeKeptComesAgain(_ code: BridgeError.Code) async throws {
        var narrow = AlteredTransport(broker)
        narrow.publishes = { message in
            if message.subject.hasPrefix("dead.") { throw BridgeError(code, subject: message.subject) }
            return message
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let faults = Recorder<Fault>()
        let board = Switchboard(onFault: { faults.record($0) })
        let isMended = Gate()
        let heard = Recorder<String>()
        let token = board[.ordered].listen { (order: Order) throws in
            if !isMended.isOpen { throw Trouble() }
            heard.record(order.dish)
        }
        let kitchen = Bridge(
            "kitchen",
            switchboard: board,
            transport: narrow,
            routes: [.incoming(.ordered, durable: true)],
            // Without a pause, faults would come faster than they are looked at.
            configuration: .quick.with {
                ($0.failureLimit, $0.backoff) = (1, Backoff(first: .milliseconds(20), limit: .milliseconds(20)))
            }
        )
        let running = Task { try await kitchen.run() }
        #expect(await till.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        await faults.wait { $0.count { "\($0)".contains("\(code)") } >= 3 }
        isMended.open()
        #expect(await heard.first(1) == ["soup"])
        #expect(kitchen.statistics.refused == 0)
        running.cancel()
        try await running.value
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    /// Also those of a bridge that has ended, and however few messages the broker keeps for names that come later.
    @Test(arguments: [0, 2])
    func aBrokerInMemoryKeepsLettersUntilTheyArePutBack(replayed: Int) async throws {
        let broker = InMemoryBroker(limits: .init(replayedMessages: replayed))
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let isMended = Gate()
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: .quick.with { $0.failureLimit = 2 }
        )
        let heard = Recorder<String>()
        let token = kitchen.board[.ordered].listen { (order: Order) throws in
            if order.dish == "soup", !isMended.isOpen { throw Trouble() }
            heard.record(order.dish)
        }
        for dish in ["soup", "bread", "cake", "wine"] {
            #expect(await till.board[.ordered].postAndWait(Order(dish: dish)).isComplete)
        }
        #expect(await kitchen.deadLetters.first(1).count == 1)
        _ = await heard.first(3)
        isMended.open()
        #expect(try await DeadLetterBox("dead").putBack(over: InMemoryTransport(broker), atMost: 1) == 1)
        #expect(await heard.first(4).last == "soup")
        try await kitchen.stop()
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    /// A broker that is back should not be left waiting for as long as a listener that fails.
    @Test func attemptsToPublishAreAtMostHalfAMinuteApart() {
        let configuration = BridgeConfiguration()
        #expect(configuration.pause(before: 1) == .milliseconds(100))
        #expect(configuration.pause(before: 100) == .seconds(5))
        #expect(configuration.backoff.delay(before: 100) == .seconds(300))
    }
}
