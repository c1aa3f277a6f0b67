import Testing

@testable import Channels

/// The transitions of a state's turns, without threads. A number stands for a thread.
struct StateTurnsTests {
    /// Turns of a state of numbers, and the values that were delivered.
    private final class Run {
        private var turns = StateTurns(MessageLayout(Int.self))
        private(set) var delivered: [Int] = []

        var deliverer: UInt { turns.deliverer }
        var depth: Int { turns.depth }
        var waitingCount: Int { turns.waitingCount }
        var refusedCount: Int { turns.refusedCount }

        func turn(of thread: UInt) -> ListenerCounters.Reservation? { turns.turn(of: thread) }
        func hasRoom(for thread: UInt) -> Bool { turns.hasRoom(for: thread) }
        func endsIfNothingWaits() -> Bool { turns.endsIfNothingWaits() }
        func nextToGoOn() -> StandingSetter? { turns.nextToGoOn() }
        func leave(_ setter: StandingSetter) -> (delivers: Bool, isOverfull: Bool) { turns.leave(setter) }
        func takeOver(by thread: UInt) { turns.takeOver(by: thread) }

        @discardableResult
        func set(
            _ value: Int,
            from thread: UInt,
            for entry: ListenerEntry? = nil,
            before number: UInt64 = 0,
            mayStand: Bool = true
        ) -> StateTurns.Admission {
            MessageAddress.lending(value) {
                turns.admit($0, nil, before: number, for: entry, from: thread, mayStand: mayStand)
            }
        }

        /// Notes the value, if there is one.
        func next(for thread: UInt) -> StateTurns.Next {
            var value = 0
            let next = MessageAddress.lending(mutable: &value) { turns.next(for: thread, into: $0) }
            if case .deliver = next { delivered.append(value) }
            return next
        }

        /// Whether a value that is set waits for somebody else to deliver it.
        func waits(_ value: Int, from thread: UInt, mayStand: Bool = true) -> Bool {
            if case .wait = set(value, from: thread, mayStand: mayStand) { true } else { false }
        }

        /// Whether the round ends instead of a delivery.
        func ends(on thread: UInt) -> Bool { if case .end = next(for: thread) { true } else { false } }

        func handsOverToJob(on thread: UInt) -> Bool {
            if case .handOverToJob = next(for: thread) { true } else { false }
        }

        /// Delivers so many. Whether there were as many.
        func deliver(_ count: Int, on thread: UInt) -> Bool {
            for _ in 0..<count { guard case .deliver = next(for: thread) else { return false } }
            return true
        }
    }

    private func entry() -> ListenerEntry {
        ListenerEntry(bits: 0, owner: nil, counters: nil, site: PackedSite(#fileID, #line), call: .nothing)
    }

    private func setter(_ admission: StateTurns.Admission) -> StandingSetter? {
        if case .stand(let setter) = admission { setter } else { nil }
    }

    @Test func whoSetsAloneDeliversAtOnceAndTheRoleIsFreeAfterwards() {
        let run = Run()
        #expect(run.turn(of: 1) == .now)
        guard case .deliver(let turn) = run.set(1, from: 1) else {
            Issue.record("no value is delivered")
            return
        }
        #expect(turn.depth == 1 && turn.setter == 1)
        #expect(run.deliverer == 1 && run.depth == 1)
        #expect(run.endsIfNothingWaits())
        #expect(run.deliverer == 0 && run.depth == 0)
    }

    @Test func whatIsSetMeanwhileIsDeliveredInOrderWhoeverSetIt() {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...6 {
            #expect(run.waits(value, from: UInt(1 + value % 3)))
        }
        #expect(!run.endsIfNothingWaits() && run.waitingCount == 6)
        #expect(run.deliver(6, on: 1))
        guard case .end(let standing, _) = run.next(for: 1) else {
            Issue.record("the round goes on")
            return
        }
        #expect(standing.isEmpty && run.delivered == Array(1...6))
        #expect(run.deliverer == 0 && run.waitingCount == 0)
    }

    /// Whoever sets inside a listener hears its value next, unless values of others come first.
    @Test func theTurnOfTheThreadThatDeliversIsLaterAndUnknownBehindOthers() {
        let run = Run()
        run.set(0, from: 1)
        #expect(run.turn(of: 1) == .later && run.turn(of: 2) == nil)
        run.set(1, from: 1)
        #expect(run.turn(of: 1) == .later)
        run.set(2, from: 2)
        #expect(run.turn(of: 1) == nil)
        #expect(run.deliver(2, on: 1))
        #expect(run.ends(on: 1))
        // Nothing of the round before is left.
        run.set(3, from: 1)
        #expect(run.turn(of: 1) == .later)
        #expect(run.endsIfNothingWaits())
    }

    @Test func theDepthIsThatOfTheChainThatLedToAValue() {
        let run = Run()
        run.set(0, from: 1)
        run.set(1, from: 1)
        run.set(2, from: 2)
        for expected in [2, 1] {
            guard case .deliver(let turn, _) = run.next(for: 1) else {
                Issue.record("no value is delivered")
                return
            }
            #expect(turn.depth == expected && run.depth == expected)
        }
        run.set(3, from: 1)
        guard case .deliver(let turn, _) = run.next(for: 1) else {
            Issue.record("no value is delivered")
            return
        }
        #expect(turn.depth == 2)
        #expect(run.ends(on: 1))
        #expect(run.depth == 0)
    }

    @Test func aListenerThatResumesAgainBeforeAnythingElseHasOneTurnWithTheLaterNumber() {
        let run = Run()
        let (first, second) = (entry(), entry())
        run.set(0, from: 1)
        run.set(1, from: 2, for: first, before: 5)
        run.set(1, from: 2, for: first, before: 7)
        run.set(1, from: 2, for: second, before: 8)
        run.set(1, from: 2, for: first, before: 9)
        var heard: [UInt64] = []
        while case .deliver(let turn, _) = run.next(for: 1) { heard.append(turn.before) }
        #expect(heard == [7, 8, 9])
    }

    // MARK: The role passes on

    @Test func afterSixtyFourValuesOfOthersTheNextThatSetsStandsAndIsGivenTheRole() throws {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...63 { run.set(value, from: 2) }
        #expect(run.deliver(63, on: 1))
        #expect(run.waits(64, from: 2))
        #expect(run.deliver(1, on: 1))
        // Its own do not count, and it does not wait for itself.
        #expect(run.waits(65, from: 1))
        #expect(run.waits(66, from: 2, mayStand: false))
        let standing = try #require(setter(run.set(67, from: 3)))
        // One is enough.
        #expect(run.waits(68, from: 4))
        guard case .handOver(let setter) = run.next(for: 1) else {
            Issue.record("nobody else is given the role")
            return
        }
        #expect(setter === standing && setter.isDeliverer && setter.thread == 3)
        #expect(run.deliverer == 3)
        let outcome = run.leave(setter)
        #expect(outcome.delivers && !outcome.isOverfull)
        // It has a share of its own before the role passes on.
        #expect(run.deliver(4, on: 3))
        guard case .end(let left, _) = run.next(for: 3) else {
            Issue.record("the round goes on")
            return
        }
        #expect(left.isEmpty && run.delivered == Array(1...68))
    }

    @Test func aNewRoundBeginsWithAShareOfItsOwn() {
        let run = Run()
        for _ in 0..<4 {
            run.set(0, from: 1)
            for value in 1...40 { run.set(value, from: 2) }
            #expect(run.deliver(40, on: 1))
            #expect(run.ends(on: 1))
        }
    }

    @Test func whereOnlyListenersSetAJobTakesOverAfter1024Values() {
        let run = Run()
        run.set(0, from: 9)
        for value in 1...1_030 { run.set(value, from: 2, mayStand: false) }
        #expect(run.deliver(1_024, on: 9))
        #expect(run.handsOverToJob(on: 9))
        // Until it runs, the role is taken, by no thread that there is.
        #expect(run.deliverer != 0 && run.deliverer != 9 && run.turn(of: 9) == nil)
        run.takeOver(by: 3)
        #expect(run.deliverer == 3 && run.deliver(6, on: 3))
        #expect(run.ends(on: 3))
        #expect(run.delivered == Array(1...1_030))
    }

    @Test func aJobHasAShareOfItsOwn() {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...2_100 { run.set(value, from: 2, mayStand: false) }
        #expect(run.deliver(1_024, on: 1))
        #expect(run.handsOverToJob(on: 1))
        run.takeOver(by: 3)
        #expect(run.deliver(1_024, on: 3))
        #expect(run.handsOverToJob(on: 3))
    }

    // MARK: Too many wait

    @Test func whoSetsBeyond1024StandsUntilThereAreFewer() throws {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...1_024 {
            #expect(run.waits(value, from: 2))
        }
        let first = try #require(setter(run.set(1_025, from: 3)))
        let second = try #require(setter(run.set(1_026, from: 4)))
        #expect(run.nextToGoOn() == nil)
        #expect(run.deliver(1, on: 1))
        #expect(run.nextToGoOn() == nil, "1,025 wait")
        #expect(run.deliver(1, on: 1))
        #expect(run.nextToGoOn() === first)
        #expect(run.nextToGoOn() === second)
        #expect(run.nextToGoOn() == nil)
        // They had been told.
        for setter in [first, second] {
            let outcome = run.leave(setter)
            #expect(!outcome.delivers && !outcome.isOverfull)
        }
    }

    @Test func ofThoseThatStandTheFirstStaysWhereTheDelivererIsToBeRelieved() throws {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...1_087 { run.set(value, from: 2, mayStand: false) }
        let first = try #require(setter(run.set(1_088, from: 3)))
        let second = try #require(setter(run.set(1_089, from: 4)))
        #expect(run.deliver(64, on: 1))
        #expect(run.nextToGoOn() == nil, "1,025 wait")
        // The one that delivers cannot relieve itself.
        guard case .handOver(let setter) = run.next(for: 3) else {
            Issue.record("nobody else is given the role")
            return
        }
        #expect(setter === second)
        #expect(run.deliver(64, on: 4))
        #expect(run.nextToGoOn() == nil)
        guard case .handOver(let other) = run.next(for: 4) else {
            Issue.record("nobody else is given the role")
            return
        }
        #expect(other === first && run.deliverer == 3)
    }

    @Test func whoHasStoodLongEnoughLeavesAndIsToldWhetherTooManyStillWait() throws {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...1_024 { run.set(value, from: 2) }
        let first = try #require(setter(run.set(1_025, from: 3)))
        let second = try #require(setter(run.set(1_026, from: 4)))
        let early = run.leave(first)
        #expect(!early.delivers && early.isOverfull)
        #expect(run.deliver(2, on: 1))
        let late = run.leave(second)
        #expect(!late.delivers && !late.isOverfull)
        #expect(run.nextToGoOn() == nil)
        #expect(run.deliver(62, on: 1))
        // Nobody stands any more: it goes on.
        #expect(run.deliver(1, on: 1))
    }

    @Test func whoStandsWhenTheRoundEndsIsToldOnce() throws {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...64 { run.set(value, from: 2) }
        #expect(run.deliver(64, on: 1))
        let standing = try #require(setter(run.set(65, from: 1 + 1)))
        // It cannot be given to the one that delivers.
        #expect(!run.endsIfNothingWaits())
        #expect(run.deliver(1, on: 2))
        guard case .end(let told, _) = run.next(for: 2) else {
            Issue.record("the round goes on")
            return
        }
        #expect(told.count == 1 && told.first === standing)
        #expect(!run.leave(standing).delivers)
        run.set(0, from: 1)
        #expect(run.endsIfNothingWaits())
    }

    // MARK: Too many follow from one

    @Test func beyondTheLimitOnlyWhatFollowsFromNoneHasRoomUntilThatHasBeenDelivered() {
        let run = Run()
        #expect(run.hasRoom(for: 1))
        run.set(0, from: 1)
        // A chain: each value is set inside the listener of the one before.
        for value in 1...20 {
            #expect(run.hasRoom(for: 1))
            run.set(value, from: 1)
            _ = run.deliver(1, on: 1)
        }
        // From the ninth level on, each costs 64 of 2^20.
        var most = 0
        while run.hasRoom(for: 1) {
            run.set(0, from: 1)
            most += 1
        }
        #expect(most == 16_384)
        #expect(run.refusedCount == 1)
        #expect(!run.hasRoom(for: 1) && run.hasRoom(for: 2))
        #expect(run.refusedCount == 2)
        while case .deliver = run.next(for: 1) {}
        run.set(0, from: 1)
        #expect(run.hasRoom(for: 1) && run.refusedCount == 0)
    }
}
