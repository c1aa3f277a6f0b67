import Testing

@testable import Channels

/// The transitions of a state's turns, without threads. A number stands for a thread.
struct StateTurnsTests {
    /// Turns of a state of numbers, and the values that were delivered.
    private final class Run {
        private var turns = StateTurns(MessageLayout(Int.self))
        private(set) var delivered: [Int] = []

        var deliverer: UInt { turns.deliverer }
        var waitingCount: Int { turns.waitingCount }

        func endIfNothingWaits() -> Bool { turns.endIfNothingWaits() }
        func takeOver(by thread: UInt) { turns.takeOver(by: thread) }
        func close() -> Bool { turns.close() }

        @discardableResult
        func set(_ value: Int, from thread: UInt, for entry: ListenerEntry? = nil, before number: UInt64 = 0)
            -> StateTurns.Claim
        {
            MessageAddress.lending(value) {
                turns.claim($0, nil, before: number, for: entry, chain: 1, from: thread)
            }
        }

        /// Notes the value, if there is one.
        func next(for thread: UInt) -> StateTurns.Next {
            var value = 0
            let next = MessageAddress.lending(mutable: &value) { turns.next(for: thread, into: $0) }
            if case .deliver = next { delivered.append(value) }
            return next
        }

        /// Delivers as many as there are before the turn passes on. How many.
        func deliver(on thread: UInt) -> Int {
            var count = 0
            while case .deliver = next(for: thread) { count += 1 }
            return count
        }

        /// How many values wait, if a value that is set waits behind a backlog, and whether its setter can wait.
        func backlog(_ value: Int, from thread: UInt, for entry: ListenerEntry? = nil) -> Backlog? {
            guard case .waitBehind(let count, let canWait) = set(value, from: thread, for: entry) else { return nil }
            return Backlog(count: count, canWait: canWait)
        }
    }

    private struct Backlog: Equatable {
        let count: Int
        let canWait: Bool
    }

    private func entry() -> ListenerEntry {
        ListenerEntry(.none, owner: nil, route: nil, site: PackedSite(#fileID, #line), call: .nothing)
    }

    @Test func whoSetsAloneDeliversAtOnceAndTheRoleIsFreeAfterwards() {
        let run = Run()
        guard case .deliver(let turn) = run.set(1, from: 1) else {
            Issue.record("no value is delivered")
            return
        }
        #expect(turn.setter == 1 && run.deliverer == 1)
        #expect(run.endIfNothingWaits() && run.deliverer == 0)
    }

    @Test func whatIsSetMeanwhileIsDeliveredInOrderWhoeverSetIt() {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...6 {
            guard case .wait = run.set(value, from: UInt(value % 3)) else {
                Issue.record("\(value) does not wait")
                return
            }
        }
        #expect(!run.endIfNothingWaits())
        #expect(run.deliver(on: 1) == 6 && run.delivered == [1, 2, 3, 4, 5, 6] && run.deliverer == 0)
    }

    @Test func aListenerThatResumesAgainAtOnceHasOneLaterTurn() {
        let run = Run()
        let (first, second) = (entry(), entry())
        run.set(0, from: 1)
        for number in 1...3 { run.set(7, from: 2, for: first, before: UInt64(number)) }
        run.set(7, from: 2, for: second, before: 4)
        run.set(7, from: 2, for: first, before: 5)
        #expect(run.waitingCount == 3)
        guard case .deliver(let turn, _) = run.next(for: 1) else {
            Issue.record("nothing waits")
            return
        }
        #expect(turn.entry === first && turn.before == 3)
    }

    @Test func after64ValuesOfOthersAJobGoesOn() {
        let run = Run()
        run.set(0, from: 11)
        for value in 1...150 { run.set(value, from: 12) }
        #expect(run.deliver(on: 11) == 64)
        #expect(run.deliverer != 11 && run.deliverer != 0)
        run.takeOver(by: 13)
        #expect(run.deliverer == 13 && run.deliver(on: 13) == 64)
        run.takeOver(by: 14)
        #expect(run.deliver(on: 14) == 22 && run.deliverer == 0)
        #expect(run.delivered == Array(1...150))
    }

    @Test func whatTheDelivererSetsItselfIsNotForOthers() {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...1_000 { run.set(value, from: 1) }
        #expect(run.deliver(on: 1) == 1_000 && run.deliverer == 0)
    }

    @Test func beyond1024ValuesOthersAreABacklogARegistrationIsNone() {
        let run = Run()
        run.set(0, from: 1)
        for value in 1...1_024 { #expect(run.backlog(value, from: 2) == nil) }
        #expect(run.backlog(1_025, from: 2) == Backlog(count: 1_025, canWait: true))
        // It would wait for itself.
        #expect(run.backlog(1_026, from: 1) == Backlog(count: 1_026, canWait: false))
        #expect(run.backlog(1_027, from: 2, for: entry()) == nil)
        #expect(run.backlog(1_028, from: 2) == Backlog(count: 1_028, canWait: true))
    }

    @Test func aChannelThatGoesDuringADeliveryIsClosedAfterWhatWaits() {
        let run = Run()
        run.set(0, from: 1)
        run.set(1, from: 2)
        #expect(!run.close() && !run.endIfNothingWaits())
        guard case .deliver = run.next(for: 1), case .end(closesList: true) = run.next(for: 1) else {
            Issue.record("it is not closed at the end")
            return
        }
        #expect(run.close())
    }
}
