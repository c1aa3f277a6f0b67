import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

@Suite(.hangLimit)
struct StateTests {
    private let broker = InMemoryBroker()
    private let route = BridgeRoute.both(state: .lastSale, initial: Sale(total: 0))

    private func state(of process: MiniProcess) -> StateChannel<Sale> {
        process.board.state(.lastSale, initial: Sale(total: -1))
    }

    @Test func aProcessThatJoinsLateGetsTheCurrentStateThenTheChanges() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [route])
        state(of: till).set(Sale(total: 1))
        state(of: till).set(Sale(total: 2))
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        await stored.wait { $0.last == #"{"total":2}"# }
        let late = await MiniProcess("late", InMemoryTransport(broker), [route])
        let seen = Recorder<Int>()
        let token = state(of: late).listen { sale in seen.record(sale.total) }
        await seen.wait { $0.last == 2 }
        state(of: till).set(Sale(total: 3))
        await seen.wait { $0.last == 3 }
        // Its own initial value is not what the others have now.
        #expect(state(of: till).value == Sale(total: 3))
        try await till.stop()
        try await late.stop()
        withExtendedLifetime(token) {}
    }

    @Test func valuesFromElsewhereHaveTheirOriginAndAreNotSentBack() async throws {
        let board = Switchboard()
        board.state(.lastSale, initial: Sale(total: 100)).set(Sale(total: 100))
        let left = await MiniProcess("left", InMemoryTransport(broker), [route], board: board)
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<UInt64>()
        try await watcher.watch("shop.lastSale") { stored.record($0.revision) }
        _ = await stored.first(1)
        let right = await MiniProcess("right", InMemoryTransport(broker), [route])
        _ = await state(of: right).first { $0.total == 100 }
        let origins = Recorder<String>()
        let token = state(of: right).posts.listen { post in
            origins.record("\(post.message.total) \(post.origin == .local)")
        }
        for total in 1...20 {
            state(of: left).set(Sale(total: total))
            _ = await state(of: right).first { $0.total == total }
        }
        try await left.stop()
        try await right.stop()
        #expect(origins.all == ["100 true"] + (1...20).map { "\($0) false" })
        // The first value, and twenty more.
        #expect(left.bridge.statistics.sent == 21 && left.bridge.statistics.received == 0)
        #expect(right.bridge.statistics.sent == 0 && right.bridge.statistics.received == 21)
        withExtendedLifetime(token) {}
    }

    /// It starts first, and has nothing to say.
    @Test(arguments: [false, true])
    func anInitialValueYieldsToOneThatWasSet(isUpdated: Bool) async throws {
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        let unset = await MiniProcess("unset", InMemoryTransport(broker), [route])
        _ = await stored.first(1)
        let till = await MiniProcess("till", InMemoryTransport(broker), [route]) { board, _ in
            let state = board.state(.lastSale, initial: Sale(total: 0))
            if isUpdated { state.update { $0.total = 41 } } else { state.set(Sale(total: 41)) }
        }
        _ = await state(of: unset).first { $0.total == 41 }
        let late = await MiniProcess("late", InMemoryTransport(broker), [route])
        _ = await state(of: late).first { $0.total == 41 }
        state(of: late).set(Sale(total: 42))
        for process in [unset, till] { _ = await state(of: process).first { $0.total == 42 } }
        for process in [unset, till, late] { try await process.stop() }
        #expect(stored.all == [#"{"total":0}"#, #"{"total":41}"#, #"{"total":42}"#])
    }

    /// It looks for a value, finds none, and is overtaken.
    @Test func theFirstValueOfAProcessDoesNotReplaceOneStoredMeanwhile() async throws {
        let other = try await connectedTransport(broker)
        let stored = try TransportMessage(subject: "shop.lastSale", body: Array(#"{"total":5}"#.utf8))
        var transport = AlteredTransport(broker)
        transport.stores = { _ in _ = try await other.storeIfNone(stored) }
        let till = await MiniProcess("till", transport, [route])
        _ = await state(of: till).first { $0.total == 5 }
        try await till.stop()
        #expect(state(of: till).value == Sale(total: 5))
        #expect(till.bridge.statistics.sent == 0 && till.bridge.statistics.received == 1)
        let values = Recorder<String>()
        try await other.watch("shop.lastSale") { values.record(String(decoding: $0.message.body, as: UTF8.self)) }
        #expect(await values.first(1) == [#"{"total":5}"#])
    }

    @Test func whatTheBrokerHasWinsOverWhatWasSetBefore() async throws {
        let sender = try await connectedTransport(broker)
        _ = try await sender.store(try .event(#"{"total":9}"#, to: "shop.lastSale"))
        let board = Switchboard()
        board.state(.lastSale, initial: Sale(total: 0)).set(Sale(total: 41))
        let till = await MiniProcess("till", InMemoryTransport(broker), [route], board: board)
        _ = await state(of: till).first { $0.total == 9 }
        try await till.stop()
        #expect(till.bridge.statistics.sent == 0)
    }

    /// Also where the others have taken a value that was set before.
    @Test func initialValueOfARouteThatOnlySendsReplacesOneThatWasSet() async throws {
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        let outgoing = BridgeRoute.outgoing(state: .lastSale, initial: Sale(total: 9))
        let source = await MiniProcess("source", InMemoryTransport(broker), [outgoing])
        _ = await stored.first(1)
        state(of: source).set(Sale(total: 7))
        _ = await stored.first(2)
        let both = await MiniProcess("both", InMemoryTransport(broker), [route])
        #expect(state(of: both).value == Sale(total: 7))
        try await source.stop()
        let again = await MiniProcess("source", InMemoryTransport(broker), [outgoing])
        _ = await state(of: both).first { $0.total == 9 }
        try await again.stop()
        // It has stored whatever it wanted to store.
        try await both.stop()
        #expect(stored.all == [9, 7, 9].map { #"{"total":\#($0)}"# } && both.bridge.statistics.sent == 0)
        try await watcher.close(timeout: .seconds(1))
    }

    @Test func directionsAreRespected() async throws {
        let source = await MiniProcess(
            "source",
            InMemoryTransport(broker),
            [.outgoing(state: .lastSale, initial: Sale(total: 7))]
        )
        let sink = await MiniProcess(
            "sink",
            InMemoryTransport(broker),
            [.incoming(state: .lastSale, initial: Sale(total: 0))]
        )
        _ = await state(of: sink).first { $0.total == 7 }
        state(of: sink).set(Sale(total: 100))
        state(of: source).set(Sale(total: 8))
        _ = await state(of: sink).first { $0.total == 8 }
        #expect(state(of: source).value == Sale(total: 8))
        try await source.stop()
        // It does not hear of the value that is stored, and replaces it by its own, though that is only the initial one.
        let again = await MiniProcess(
            "again",
            InMemoryTransport(broker),
            [.outgoing(state: .lastSale, initial: Sale(total: 9))]
        )
        _ = await state(of: sink).first { $0.total == 9 }
        try await again.stop()
        try await sink.stop()
        #expect(sink.bridge.statistics.sent == 0 && source.bridge.statistics.received == 0)
    }

    /// Without the revisions each of two processes could end with the other's value.
    @Test(arguments: Seed.first(20))
    func processesThatSetAtTheSameTimeEndWithTheSameValue(seed: Seed) async throws {
        var processes: [MiniProcess] = []
        for name in ["a", "b", "c"] { processes.append(await MiniProcess(name, InMemoryTransport(broker), [route])) }
        let states = processes.map { state(of: $0) }
        await withTaskGroup(of: Void.self) { group in
            for (index, state) in states.enumerated() {
                group.addTask {
                    for step in 0..<30 {
                        state.set(Sale(total: (index + 1) * 1_000 + step))
                        if (step &* 7 &+ seed.number &+ index) % 3 == 0 { await Task.yield() }
                    }
                }
            }
        }
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        // Where every process has stored what it set, nothing is on its way but what the others stored last.
        let isSettled = {
            processes.allSatisfy { $0.bridge.workers.allSatisfy { ($0 as? StateWorker<Sale>)?.isIdle ?? false } }
        }
        await wait(for: isSettled()) { $0 }
        for state in states {
            await wait(for: (stored.all.last, state.value.total)) { $0.0 == #"{"total":\#($0.1)}"# }
        }
        for process in processes { try await process.stop() }
        #expect(Set(states.map(\.value)).count == 1)
    }

    @Test func aValueSetDuringAnInterruptionIsStoredAfterIt() async throws {
        let clock = ManualClock()
        let transport = InMemoryTransport(broker)
        let configuration = BridgeConfiguration.quick.with {
            $0.clock = clock
            $0.backoff = Backoff(first: .seconds(1), limit: .seconds(1))
        }
        let till = await MiniProcess("till", transport, [route], configuration: configuration)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [route])
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        _ = await stored.first(1)
        transport.breakConnection()
        state(of: till).set(Sale(total: 5))
        _ = await clock.sleeps.first(1)
        state(of: till).set(Sale(total: 6))
        transport.restoreConnection()
        clock.advance(by: .seconds(1))
        _ = await state(of: kitchen).first { $0.total == 6 }
        try await till.stop()
        try await kitchen.stop()
        // Only the newest was sent.
        #expect(!stored.all.contains(#"{"total":5}"#))
    }

    /// The broker may have it: under a new identifier it would go over what others have stored since.
    @Test func aValueWhoseAcknowledgementWasLostIsStoredUnderTheSameIdentifier() async throws {
        let identifiers = Recorder<String?>()
        var forgetful = AlteredTransport(broker)
        forgetful.stores = { message in
            guard String(decoding: message.body, as: UTF8.self).contains("13") else { return }
            identifiers.record(message.headers["ce-id"])
            if identifiers.count == 1 { throw BridgeError(.notAcknowledged, subject: message.subject) }
        }
        let till = await MiniProcess("till", forgetful, [route])
        state(of: till).set(Sale(total: 13))
        let both = await identifiers.first(2)
        #expect(both[0] != nil && both[0] == both[1])
        try await till.stop()
    }

    @Test func aStateThatCannotBeStoredIsAFault() async throws {
        var failing = AlteredTransport(broker)
        failing.stores = { message in
            if String(decoding: message.body, as: UTF8.self).contains("13") {
                throw BridgeError(.payloadTooLarge, subject: message.subject)
            }
        }
        let till = await MiniProcess("till", failing, [route])
        state(of: till).set(Sale(total: 13))
        let faults = await till.faults.wait { $0.contains { $0.code == .bridgeFailed } }
        #expect("\(faults)".contains("payloadTooLarge"))
        #expect(till.bridge.statistics.failed == 1)
        state(of: till).set(Sale(total: 14))
        try await till.stop()
        #expect(state(of: till).value == Sale(total: 14))
    }

    @Test func aListenerMaySetTheStateInReply() async throws {
        let left = await MiniProcess("left", InMemoryTransport(broker), [route])
        let right = await MiniProcess("right", InMemoryTransport(broker), [route])
        let rightState = state(of: right)
        let token = rightState.listen { sale in
            if sale.total == 1 { rightState.set(Sale(total: 2)) }
        }
        state(of: left).set(Sale(total: 1))
        _ = await state(of: left).first { $0.total == 2 }
        try await left.stop()
        try await right.stop()
        withExtendedLifetime(token) {}
    }

    /// What it stored before is what the others have, whatever has been set here since.
    @Test func valueOfAnEarlierRunReplacesWhatWasSetBetweenTheRuns() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [route])
        let board = Switchboard()
        let transport = InMemoryTransport(broker)
        let bridge = Bridge("till", switchboard: board, transport: transport, routes: [route], configuration: .quick)
        let state = board.state(.lastSale, initial: Sale(total: 0))
        for total in [1, 10] {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            // What was set while it was not running.
            if total > 1 { _ = await state.first { $0.total == 1 } }
            state.set(Sale(total: total))
            _ = await self.state(of: kitchen).first { $0.total == total }
            running.cancel()
            try await running.value
            if total == 1 { state.set(Sale(total: 5)) }
        }
        #expect(state.value == Sale(total: 10))
        try await kitchen.stop()
    }

    /// The broker has what this process stored before: it is set once more, and nothing waits for that.
    @Test func valueOfAnEarlierRunKeepsNothingWaiting() async throws {
        let watcher = try await connectedTransport(broker)
        let stored = Recorder<String>()
        try await watcher.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        let board = Switchboard()
        let transport = InMemoryTransport(broker)
        let bridge = Bridge("till", switchboard: board, transport: transport, routes: [route], configuration: .quick)
        let state = board.state(.lastSale, initial: Sale(total: 0))
        for total in 1...3 {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            await wait(for: bridge.statistics.received) { $0 >= total - 1 }
            state.set(Sale(total: total))
            await stored.wait { $0.last == #"{"total":\#(total)}"# }
            running.cancel()
            try await running.value
        }
        #expect(state.value == Sale(total: 3))
        #expect(bridge.statistics.echoes == 0 && bridge.statistics.received == 2)
    }

    @Test func unknownValueIsCountedAndReplacedByTheNextOneHere() async throws {
        let other = try await connectedTransport(broker)
        _ = try await other.store(try .event("garbage", to: "shop.lastSale"))
        let till = await MiniProcess("till", InMemoryTransport(broker), [route])
        #expect(await till.deadLetters.first(1).first?.error.code == .undecodable)
        #expect(till.bridge.statistics.refused == 1)
        #expect(till.faults.all.map(\.code) == [.bridgeFailed])
        let values = Recorder<String>()
        try await other.watch("shop.lastSale") { values.record(String(decoding: $0.message.body, as: UTF8.self)) }
        state(of: till).set(Sale(total: 5))
        await values.wait { $0.last == #"{"total":5}"# }
        try await till.stop()
        #expect(till.bridge.statistics.sent == 1)
    }

    @Test func processThatFindsAValueDoesNotTryToStoreItsOwn() async throws {
        let other = try await connectedTransport(broker)
        _ = try await other.store(try .event(#"{"total":9}"#, to: "shop.lastSale"))
        let tries = Recorder<String>()
        var transport = AlteredTransport(broker)
        transport.stores = { tries.record($0.subject) }
        let till = await MiniProcess("till", transport, [route])
        _ = await state(of: till).first { $0.total == 9 }
        try await till.stop()
        #expect(tries.count == 0 && till.bridge.statistics.received == 1)
    }

    @Test func waitsBetweenAttemptsAreShortAgainAfterAValueWasStored() async throws {
        let (clock, tries) = (ManualClock(), Recorder<String>())
        var failing = AlteredTransport(broker)
        failing.stores = { message in
            tries.record(String(decoding: message.body, as: UTF8.self))
            if [1, 2, 4].contains(tries.count) { throw BridgeError(.notConnected, subject: message.subject) }
        }
        let configuration = BridgeConfiguration.quick.with {
            $0.clock = clock
            $0.backoff = Backoff(first: .seconds(1), limit: .seconds(60))
        }
        let till = await MiniProcess("till", failing, [route], configuration: configuration)
        for wait in 1...2 {
            _ = await clock.sleeps.first(wait)
            clock.advance(by: .seconds(wait))
        }
        _ = await tries.first(3)
        state(of: till).set(Sale(total: 1))
        #expect(await clock.sleeps.first(3) == [.seconds(1), .seconds(2), .seconds(1)])
        clock.advance(by: .seconds(1))
        _ = await tries.first(5)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 2)
        // It does not listen any more.
        #expect(state(of: till).isEmpty)
    }
}
