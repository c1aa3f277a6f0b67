import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// States that the broker refuses to store.
@Suite(.hangLimit)
struct StateRefusalTests {
    private let broker = InMemoryBroker()
    private let route = BridgeRoute.both(state: .lastSale, initial: Sale(total: 0))

    private func state(of process: MiniProcess) -> StateChannel<Sale> {
        process.board.state(.lastSale, initial: Sale(total: -1))
    }

    /// A limit of the broker may be another one then.
    @Test func valueThatIsRefusedIsStoredOnTheNextConnection() async throws {
        let tries = Recorder<String>()
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var limited = AlteredTransport(broker)
        limited.hears = { events.record($0) }
        limited.stores = { message in
            tries.record(String(decoding: message.body, as: UTF8.self))
            if (2...3).contains(tries.count) { throw BridgeError(.payloadTooLarge, subject: message.subject) }
        }
        let till = await MiniProcess("till", limited, [route], beforeRunning: setLastSale)
        _ = await tries.first(1)
        state(of: till).set(Sale(total: 5))
        _ = await till.faults.first(1)
        events.all.first?(.reconnected(gap: .zero, unsent: 0))
        _ = await till.faults.first(2)
        events.all.first?(.reconnected(gap: .zero, unsent: 0))
        #expect(await tries.first(4).dropFirst() == [#"{"total":5}"#, #"{"total":5}"#, #"{"total":5}"#])
        try await till.stop()
        #expect(till.bridge.statistics.sent == 2 && till.bridge.statistics.failed == 2)
    }

    /// Nobody says when a permission is given back.
    @Test func valueThatMayNotBeStoredIsTriedAgainUntilItMay() async throws {
        let tries = Recorder<String>()
        var denying = AlteredTransport(broker)
        denying.stores = { message in
            tries.record(message.subject)
            if (2...5).contains(tries.count) { throw BridgeError(.permissionDenied, subject: message.subject) }
        }
        let till = await MiniProcess("till", denying, [route], beforeRunning: setLastSale)
        _ = await tries.first(1)
        state(of: till).set(Sale(total: 5))
        _ = await tries.first(6)
        try await till.stop()
        // Told at once, and then as often as other failures are.
        #expect(till.faults.count == 1 && till.bridge.statistics.sent == 2)
    }

    @Test func valueThatMayNotBeStoredIsReplacedByThatOfAnotherProcess() async throws {
        var denying = AlteredTransport(broker)
        denying.stores = { throw BridgeError(.permissionDenied, subject: $0.subject) }
        let office = await MiniProcess("office", InMemoryTransport(broker), [route])
        let till = await MiniProcess("till", denying, [route])
        state(of: till).set(Sale(total: 5))
        _ = await till.faults.first(1)
        state(of: office).set(Sale(total: 7))
        let sale = await state(of: till).first { $0.total == 7 }
        #expect(sale?.total == 7)
        try await till.stop()
        try await office.stop()
    }

    @Test func bridgeWhoseStateMayNotBeStoredEndsAtOnce() async throws {
        let clock = ManualClock()
        var denying = AlteredTransport(broker)
        denying.stores = { throw BridgeError(.permissionDenied, subject: $0.subject) }
        let configuration = BridgeConfiguration.quick.with {
            $0.clock = clock
            $0.backoff = Backoff(first: .seconds(1_000), limit: .seconds(1_000))
        }
        let till = await MiniProcess("till", denying, [route], configuration: configuration, beforeRunning: setLastSale)
        _ = await clock.sleeps.first(1)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 0 && till.bridge.statistics.dropped == 0)
    }
}
