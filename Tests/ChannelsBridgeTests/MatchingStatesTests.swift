import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// Routes that carry the states of every name that matches a pattern.
@Suite(.hangLimit)
struct MatchingStatesTests {
    private let broker = InMemoryBroker()
    private let both = BridgeRoute.both(statesMatching: "presence.*", of: Sale.self)

    private func process(_ name: String, _ routes: [BridgeRoute], _ board: Switchboard? = nil) async -> MiniProcess {
        await MiniProcess(name, InMemoryTransport(broker), routes, board: board)
    }

    private func state(_ name: String, of board: Switchboard) throws -> StateChannel<Sale> {
        try board.state(name, of: Sale.self, initial: Sale(total: -1))
    }

    private func set(_ total: Int, _ name: String, of process: MiniProcess) throws {
        try state(name, of: process.board).set(Sale(total: total))
    }

    /// What a process hears on the pattern: name, total and whether it is its own.
    private func hear(_ board: Switchboard) -> (Recorder<String>, ListenerToken) {
        let heard = Recorder<String>()
        let token = board[matching: "presence.*"].listen { post in
            guard let sale = post.message as? Sale else { return }
            heard.record("\(post.channelName ?? "") \(sale.total)\(post.origin == .local ? " own" : "")")
        }
        return (heard, token)
    }

    /// What is stored, as any client of the broker sees it.
    private func watch(_ pattern: ChannelPattern = ">") async throws -> Recorder<String> {
        let stored = Recorder<String>()
        try await connectedTransport(broker).watch(pattern) { value in
            stored.record("\(value.message.subject) \(String(decoding: value.message.body, as: UTF8.self))")
        }
        return stored
    }

    @Test func valuesGoInBothDirectionsAndPatternsHearThem() async throws {
        let (till, kitchen) = (await process("till", [both]), await process("kitchen", [both]))
        let (tillHeard, kitchenHeard) = (hear(till.board), hear(kitchen.board))
        try set(1, "presence.till", of: till)
        await kitchenHeard.0.wait { $0.contains("presence.till 1") }
        try set(2, "presence.kitchen", of: kitchen)
        await tillHeard.0.wait { $0.contains("presence.kitchen 2") }
        try set(3, "presence.till", of: till)
        await kitchenHeard.0.wait { $0.contains("presence.till 3") }
        try await till.stop()
        try await kitchen.stop()
        #expect(tillHeard.0.all == ["presence.till 1 own", "presence.kitchen 2", "presence.till 3 own"])
        #expect(kitchenHeard.0.all == ["presence.till 1", "presence.kitchen 2 own", "presence.till 3"])
        #expect(till.bridge.statistics.sent == 2 && till.bridge.statistics.received == 1)
        #expect(till.bridge.statistics.echoes == 0 && till.faults.count == 0 && kitchen.faults.count == 0)
        withExtendedLifetime((tillHeard, kitchenHeard)) {}
    }

    @Test func processThatJoinsLateIsReadyWhenItHasEveryState() async throws {
        let till = await process("till", [both])
        for number in 0..<20 { try set(number, "presence.\(number)", of: till) }
        await wait(for: till.bridge.statistics.sent) { $0 == 20 }
        for route in [both, .incoming(statesMatching: "presence.>", of: Sale.self)] {
            let late = await process("late", [route])
            let totals = try (0..<20).map { try state("presence.\($0)", of: late.board).value.total }
            #expect(totals == Array(0..<20))
            #expect(late.bridge.statistics.received == 20 && late.bridge.statistics.sent == 0)
            try await late.stop()
        }
        try await till.stop()
    }

    @Test func statesSetBeforeAndAfterTheBridgeRunsAreStoredAndUnsetOnesAreNot() async throws {
        let stored = try await watch()
        let board = Switchboard()
        let unset = try state("presence.unset", of: board)
        try state("presence.before", of: board).set(Sale(total: 1))
        try state("elsewhere.before", of: board).set(Sale(total: 2))
        let till = await process("till", [.outgoing(statesMatching: "presence.*", of: Sale.self)], board)
        await stored.wait(count: 1)
        let after = try state("presence.after", of: board)
        #expect(till.bridge.statistics.sent == 1)
        after.set(Sale(total: 3))
        await stored.wait(count: 2)
        try set(4, "presence.before", of: till)
        await stored.wait(count: 3)
        unset.update { $0.total = 5 }
        await stored.wait(count: 4)
        try await till.stop()
        #expect(
            stored.all == [
                #"presence.before {"total":1}"#, #"presence.after {"total":3}"#, #"presence.before {"total":4}"#,
                #"presence.unset {"total":5}"#,
            ]
        )
    }

    @Test func valueOfTheBrokerReplacesOneSetBeforeTheBridgeRuns() async throws {
        let other = try await connectedTransport(broker)
        _ = try await other.store(.event(#"{"total":9}"#, to: "presence.till"))
        let board = Switchboard()
        try state("presence.till", of: board).set(Sale(total: 1))
        let till = await process("till", [both], board)
        #expect(try state("presence.till", of: board).value == Sale(total: 9))
        try await till.stop()
        #expect(till.bridge.statistics.sent == 0)
    }

    @Test func writersWithANameEachDoNotDisturbEachOther() async throws {
        var processes: [MiniProcess] = []
        for name in ["a", "b", "c"] { processes.append(await process(name, [both])) }
        let heard = processes.map { hear($0.board) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, process) in zip(["a", "b", "c"], processes) {
                let own = try state("presence.\(name)", of: process.board)
                group.addTask {
                    for total in 1...100 {
                        own.set(Sale(total: total))
                        if total % 7 == 0 { await Task.yield() }
                    }
                }
            }
            try await group.waitForAll()
        }
        for process in processes {
            for name in ["a", "b", "c"] {
                _ = try await state("presence.\(name)", of: process.board).first { $0.total == 100 }
            }
        }
        for process in processes { try await process.stop() }
        for (name, (heard, _)) in zip(["a", "b", "c"], heard) {
            let own = heard.all.filter { $0.hasPrefix("presence.\(name) ") }
            #expect(own == (1...100).map { "presence.\(name) \($0) own" })
        }
        withExtendedLifetime(heard) {}
    }

    @Test func directionsAreRespected() async throws {
        let source = await process("source", [.outgoing(statesMatching: "presence.*", of: Sale.self)])
        let sink = await process("sink", [.incoming(statesMatching: "presence.*", of: Sale.self)])
        try set(1, "presence.source", of: source)
        try set(100, "presence.sink", of: sink)
        _ = try await state("presence.source", of: sink.board).first { $0.total == 1 }
        try set(200, "presence.source", of: sink)
        try set(2, "presence.source", of: source)
        _ = try await state("presence.source", of: sink.board).first { $0.total == 2 }
        try await source.stop()
        try await sink.stop()
        #expect(source.board.state(ifMade: "presence.sink", of: Sale.self) == nil)
        #expect(source.bridge.statistics.received == 0 && sink.bridge.statistics.sent == 0)
    }

    /// As for presence: each process stores a state of its own, and takes those of all.
    @Test func valuesOfThisProcessAreNotSetAgain() async throws {
        let routes: [BridgeRoute] = [
            .outgoing(state: "presence.till", initial: Sale(total: 0)),
            .incoming(statesMatching: "presence.*", of: Sale.self),
        ]
        let stored = try await watch()
        let till = await process("till", routes)
        let heard = hear(till.board)
        // Its initial value.
        await stored.wait(count: 1)
        for total in 1...3 {
            try set(total, "presence.till", of: till)
            await stored.wait(count: total + 1)
        }
        try await till.stop()
        #expect(heard.0.all == (1...3).map { "presence.till \($0) own" })
        #expect(till.bridge.statistics.received == 0)
        withExtendedLifetime(heard) {}
    }

    @Test func firstRouteThatMatchesANameCarriesIt() async throws {
        let stored = try await watch()
        let till = await process("till", [.both(state: "presence.till", initial: Sale(total: 0)), both, both])
        // Its initial value.
        await stored.wait(count: 1)
        for total in 1...5 {
            try set(total, "presence.till", of: till)
            try set(total, "presence.more", of: till)
            await stored.wait(count: total * 2 + 1)
        }
        let other = try await connectedTransport(broker)
        _ = try await other.store(.event(#"{"total":9}"#, to: "presence.till"))
        _ = try await state("presence.till", of: till.board).first { $0.total == 9 }
        try await till.stop()
        #expect(stored.count == 12 && till.bridge.statistics.sent == 11 && till.bridge.statistics.received == 1)
    }

    @Test func namesInUseForAnotherTypeAreLeftAlone() async throws {
        let stored = try await watch()
        let till = await process("till", [both])
        let order = try till.board.state("presence.order", of: Order.self, initial: Order(dish: "soup"))
        let channel = till.board.channel(ChannelName<Sale>("presence.messages"))
        order.set(Order(dish: "cake"))
        channel.post(Sale(total: 1))
        let other = try await connectedTransport(broker)
        for name in ["presence.order", "presence.messages", "presence.fine"] {
            _ = try await other.store(.event(#"{"total":9}"#, to: name))
        }
        _ = try await state("presence.fine", of: till.board).first { $0.total == 9 }
        let letters = await till.deadLetters.first(2)
        #expect(Set(letters.map(\.message.subject)) == ["presence.order", "presence.messages"])
        #expect(letters.allSatisfy { $0.error.code == .unknownType })
        try await till.stop()
        #expect(till.faults.all.map(\.code) == [.bridgeFailed, .bridgeFailed])
        #expect(order.value == Order(dish: "cake") && till.bridge.statistics.sent == 0 && stored.count == 3)
        withExtendedLifetime(channel) {}
    }

    /// What peers store is theirs, and takes up memory here.
    @Test func tooManyNamesAreAFaultAndNothingElseIsLost() async throws {
        let limit = StateNames<Void>.limit
        let other = try await connectedTransport(broker)
        for number in 0..<limit { _ = try await other.store(.event(#"{"total":1}"#, to: "presence.\(number)")) }
        let till = await process("till", [both])
        #expect(till.faults.count == 0 && till.bridge.statistics.received == limit)
        _ = try await other.store(.event(#"{"total":1}"#, to: "presence.one-more"))
        let faults = await till.faults.wait(count: 1)
        #expect(faults.map(\.code) == [.bridgeFailed] && "\(faults)".contains("bufferFull"))
        #expect(till.bridge.statistics.overflowed == 1)
        #expect(till.board.state(ifMade: "presence.one-more", of: Sale.self) == nil)
        _ = try await other.store(.event(#"{"total":2}"#, to: "presence.0"))
        _ = try await state("presence.0", of: till.board).first { $0.total == 2 }
        // Its own are not what others have brought.
        let stored = try await watch("presence.till")
        try set(3, "presence.till", of: till)
        await stored.wait(count: 1)
        try await till.stop()
    }

    @Test func namesAreCountedByWhoBroughtThem() {
        var names = StateNames<Int>()
        func name(_ name: String, isFromElsewhere: Bool) -> String {
            switch names.worker(of: name, isFromElsewhere: isFromElsewhere, make: { name.utf8.count }) {
            case .known(let worker): "known \(worker)"
            case .new(let worker, let begins): "new \(worker)\(begins ? " begins" : "")"
            case .tooMany: "too many"
            case .ended: "ended"
            }
        }
        #expect(name("é", isFromElsewhere: true) == "new 2" && name("e\u{301}", isFromElsewhere: false) == "new 3")
        #expect(name("é", isFromElsewhere: false) == "known 2")
        #expect(names.begin().sorted() == [2, 3])
        for number in 1..<StateNames<Int>.limit { _ = name("\(number)", isFromElsewhere: true) }
        #expect(name("other", isFromElsewhere: true) == "too many")
        #expect(name("other", isFromElsewhere: false) == "new 5 begins")
        #expect(name("other", isFromElsewhere: true) == "known 5")
        #expect(names.end().count == StateNames<Int>.limit + 2)
        #expect(name("last", isFromElsewhere: false) == "ended" && name("é", isFromElsewhere: true) == "known 2")
    }

    @Test func valuesBetweenTwoRunsArriveInTheSecond() async throws {
        let board = Switchboard()
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: InMemoryTransport(broker),
            routes: [both],
            configuration: .quick
        )
        let stored = try await watch("presence.kitchen")
        let kitchen = await process("kitchen", [both])
        let kitchenHeard = hear(kitchen.board)
        for run in 1...3 {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            if run > 1 { #expect(try state("presence.kitchen", of: board).value == Sale(total: run - 1)) }
            try state("presence.till", of: board).set(Sale(total: run))
            await kitchenHeard.0.wait { $0.contains("presence.till \(run)") }
            // What was made while no bridge ran.
            if run > 1 { await kitchenHeard.0.wait { $0.contains("presence.new\(run - 1) 0") } }
            running.cancel()
            try await running.value
            try set(run, "presence.kitchen", of: kitchen)
            await stored.wait(count: run)
            try state("presence.new\(run)", of: board).set(Sale(total: 0))
        }
        try await kitchen.stop()
        #expect(kitchen.board.state(ifMade: "presence.new3", of: Sale.self) == nil)
        for (_, state) in board.states(of: Sale.self) { #expect(state.isEmpty) }
        withExtendedLifetime(kitchenHeard) {}
    }

    @Test func removedStateIsNotStoredAndIsMadeAgain() async throws {
        let stored = try await watch()
        let till = await process("till", [both])
        let name: StateName<Sale> = "presence.till"
        let removed = till.board.state(name, initial: Sale(total: 0))
        removed.set(Sale(total: 1))
        await stored.wait(count: 1)
        #expect(till.board.removeState(name))
        removed.set(Sale(total: 2))
        // By another process.
        let other = try await connectedTransport(broker)
        let heard = hear(till.board)
        _ = try await other.store(.event(#"{"total":3}"#, to: "presence.till"))
        await heard.0.wait(count: 1)
        let again = try state("presence.till", of: till.board)
        #expect(again !== removed && again.value == Sale(total: 3) && removed.value == Sale(total: 2))
        again.set(Sale(total: 4))
        await stored.wait(count: 3)
        // By this one.
        #expect(till.board.removeState(name))
        let third = try state("presence.till", of: till.board)
        #expect(third.value == Sale(total: -1))
        third.set(Sale(total: 5))
        await stored.wait(count: 4)
        again.set(Sale(total: 6))
        third.set(Sale(total: 7))
        await stored.wait(count: 5)
        try await till.stop()
        #expect(stored.all.map { $0.filter(\.isNumber) } == ["1", "3", "4", "5", "7"])
        heard.1.cancel()
        #expect(again.isEmpty && third.isEmpty)
    }

    @Test func removedStateIsReleased() async throws {
        let till = await process("till", [both])
        let name: StateName<Sale> = "presence.till"
        weak var removed: StateChannel<Sale>?
        do {
            let state = till.board.state(name, initial: Sale(total: 0))
            removed = state
            state.set(Sale(total: 1))
            await wait(for: till.bridge.statistics.sent) { $0 == 1 }
            till.board.removeState(name)
        }
        await wait(for: removed == nil) { $0 }
        try await till.stop()
    }

    @Test func valuesSetDuringAnInterruptionArriveAfterIt() async throws {
        let transport = InMemoryTransport(broker)
        let till = await MiniProcess("till", transport, [both])
        let kitchen = await process("kitchen", [both])
        try set(1, "presence.till", of: till)
        _ = try await state("presence.till", of: kitchen.board).first { $0.total == 1 }
        transport.breakConnection()
        try set(2, "presence.till", of: till)
        try set(3, "presence.new", of: till)
        try set(4, "presence.kitchen", of: kitchen)
        transport.restoreConnection()
        _ = try await state("presence.kitchen", of: till.board).first { $0.total == 4 }
        for (total, name) in [(2, "presence.till"), (3, "presence.new")] {
            _ = try await state(name, of: kitchen.board).first { $0.total == total }
        }
        try await till.stop()
        try await kitchen.stop()
    }

    @Test(arguments: [true, false])
    func storageThatWasLostIsFilledAgain(receives: Bool) async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        let stored = Recorder<String>()
        var losing = AlteredTransport(broker)
        losing.hears = { events.record($0) }
        losing.stores = { stored.record($0.subject) }
        let route = receives ? both : .outgoing(statesMatching: "presence.*", of: Sale.self)
        let till = await MiniProcess("till", losing, [route]) { board, _ in
            _ = try? state("presence.unset", of: board)
        }
        try set(1, "presence.a", of: till)
        try set(2, "presence.b", of: till)
        await stored.wait(count: 2)
        await wait(for: till.bridge.statistics.sent) { $0 == 2 }
        events.all.first?(.lastValuesLost(subject: nil))
        await stored.wait(count: 4)
        events.all.first?(.lastValuesLost(subject: "presence.a"))
        await stored.wait(count: 5)
        try await till.stop()
        #expect(stored.all.sorted() == Array(repeating: "presence.a", count: 3) + ["presence.b", "presence.b"])
    }

    @Test func prefixOfSubjectsIsNoPartOfNames() async throws {
        let configuration = BridgeConfiguration.quick.with { $0.subjectPrefix = "test" }
        let stored = try await watch()
        let till = await MiniProcess("till", InMemoryTransport(broker), [both], configuration: configuration)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [both], configuration: configuration)
        let outside = await process("outside", [both])
        try set(1, "presence.till", of: till)
        _ = try await state("presence.till", of: kitchen.board).first { $0.total == 1 }
        for process in [till, kitchen, outside] { try await process.stop() }
        #expect(stored.all == [#"test.presence.till {"total":1}"#])
        #expect(outside.bridge.statistics.received == 0)
    }
}
