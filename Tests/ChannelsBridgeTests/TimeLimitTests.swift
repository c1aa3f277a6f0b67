import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// Every time of a configuration, and every timeout, from one end to the other.
@Suite(.hangLimit)
struct TimeLimitTests {
    private let broker = InMemoryBroker()

    @Test(arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max)])
    func everyTimeMayBeLongerThanAnyClockCanExpress(time: Duration) async throws {
        let configuration = BridgeConfiguration(
            failureLimit: 2,
            listenerTimeout: time,
            backoff: Backoff(first: time, limit: time),
            requestTimeout: time,
            closeTimeout: time
        )
        let board = Switchboard(onFault: { _ in })
        let price = board.requests(.price).respond { _ in 3 }
        let heard = Recorder<Int>()
        let token = board[.sold].listen { (sale: Sale) throws in
            heard.record(sale.total)
            if sale.total == 1 { throw Trouble() }
        }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, durable: true), .answering(.price)],
            configuration: configuration,
            board: board
        )
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.sold, durable: true), .asking(.price)],
            configuration: configuration
        )
        for total in 1...2 { await till.board[.sold].postAndWait(Sale(total: total)) }
        // The first is retried after all that time.
        #expect(await heard.first(2) == [1, 2])
        #expect(try await till.board.requests(.price).ask("tea", timeout: time) == 3)
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime((price, token)) {}
    }

    @Test func everyTimeMayBeOneNanosecond() async throws {
        let configuration = BridgeConfiguration(
            listenerTimeout: .nanoseconds(1),
            backoff: Backoff(first: .nanoseconds(1), limit: .nanoseconds(1)),
            requestTimeout: .nanoseconds(1),
            closeTimeout: .nanoseconds(1)
        )
        let routes: [BridgeRoute] = [.incoming(.sold, durable: true), .asking(.price)]
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), routes, configuration: configuration)
        do { try await kitchen.stop() } catch let error as BridgeError { #expect(error.code == .closingTimedOut) }
    }

    @Test(arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
    func aCallWithoutTimeThrowsAtOnce(time: Duration) async throws {
        let transport = try await connectedTransport(broker)
        let asked = Tally()
        try await transport.respond(to: "price") { request in
            asked.add()
            request.reply(TransportReply(body: []))
        }
        let message = try TransportMessage(subject: "price", body: [])
        let error = await #expect(throws: BridgeError.self) { try await transport.request(message, timeout: time) }
        #expect(error?.code == .timedOut && asked.value == 0)
        await transport.drainSubscriptions(timeout: time)
        try await transport.close(timeout: time)
    }

    @Test func delaysGrowToTheirLimitWithoutOverflow() {
        let long = Duration.seconds(Int64.max)
        #expect(Backoff(first: long, limit: long).delay(before: .max) == long)
        #expect(Backoff(first: .nanoseconds(1), limit: long).delay(before: 200) == long)
        #expect(Backoff(first: .seconds(1), limit: .seconds(4)).delay(before: 3) == .seconds(4))
        #expect(Backoff(first: .seconds(1), limit: .seconds(3)).delay(before: 3) == .seconds(3))
    }

    @Test func aTimeOutsideTheCalendarIsTheNearestInside() {
        #expect(Timestamp(secondsSince1970: -.infinity).text == "0000-01-01T00:00:00.000Z")
        #expect(Timestamp(secondsSince1970: .infinity).text == "9999-12-31T23:59:59.000Z")
        for age in [Duration.seconds(Int64.max), .seconds(Int64.min)] {
            guard case .time(let seconds) = ReplayStart.ago(age).position else { return #expect(Bool(false)) }
            #expect(Timestamp(secondsSince1970: seconds).text.utf8.count == 24)
        }
    }
}
