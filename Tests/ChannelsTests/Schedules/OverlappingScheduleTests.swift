import Channels
import ChannelsTesting
import Testing

/// Async listeners whose messages come while a call runs, in many orders of turns.
struct OverlappingScheduleTests {
    /// Whatever the policy, and however the listener ends.
    @Test func eachMessageIsAccountedForHoweverTheListenerEnds() async {
        await onSchedules { schedule in
            let policy = schedule.policy()
            var channel: Channel<Note>? = Channel { _ in }
            let calls = Calls(schedule, policy)
            let living = Witness(schedule.living)
            var owner: Owner? = Owner()
            let token = channel!.listen(owner!, once: schedule.chance(6), overlapping: policy) {
                (_, note: Note) async in
                await calls.call(with: note)
                withExtendedLifetime(living) {}
            }
            let accepted = Tally()
            let posting = [0, 1].map { poster in
                Task { [channel = channel!] in await schedule.postOrWait(4, as: poster, on: channel, accepted) }
            }
            await schedule.turns(upTo: 20)
            switch schedule.number(0...5) {
            case 0: token.cancel()
            case 1: owner = nil
            case 2:
                await token.cancelAndWait()
                calls.mustBeOver("cancelAndWait")
            case 3:
                await token.drain()
                calls.mustBeOver("finish")
                schedule.check(token.waitingCount == 0, "\(token.waitingCount) wait after finish")
            case 4: channel = nil
            default: break
            }
            for task in posting { await task.value }
            channel = nil
            while token.waitingCount > 0 { await schedule.turn() }
            await token.cancelAndWait()
            let (delivered, dropped, discarded) = (token.deliveredCount, token.droppedCount, token.discardedCount)
            schedule.check(
                delivered + dropped + discarded == accepted.value,
                "\(delivered) delivered, \(dropped) dropped, \(discarded) discarded, \(accepted.value) accepted"
            )
            schedule.check(delivered == calls.begun.count, "\(delivered) counted, \(calls.begun.count) calls")
            // Calls without an actor may overtake each other.
            schedule.check(policy == .concurrent(2) || isInOrder(calls.begun), "heard \(calls.begun)")
            withExtendedLifetime(owner) {}
        }
    }

    /// The owner is the actor, or the closure has its isolation.
    @Test func noCallBeginsOnAnActorAfterCancelThere() async {
        await onSchedules { schedule in
            let policy = schedule.policy()
            let channel = Channel<Note> { _ in }
            let counter = Counter(schedule)
            if schedule.chance(2) {
                await counter.listen(to: channel, policy)
            } else {
                await counter.listenOnItself(to: channel, policy)
            }
            let accepted = Tally()
            await withTaskGroup { group in
                for poster in 0..<2 {
                    group.addTask { await schedule.postOrWait(3, as: poster, on: channel, accepted) }
                }
                group.addTask {
                    await schedule.turns(upTo: 15)
                    await counter.cancel()
                }
                group.addTask {
                    guard schedule.chance(3) else { return }
                    await schedule.turns(upTo: 15)
                    await counter.token?.cancelAndWait()
                }
            }
            guard let token = await counter.token else { return schedule.check(false, "no token") }
            await token.cancelAndWait()
            let begun = await counter.begun
            schedule.check(isInOrder(begun), "heard \(begun)")
            schedule.check(token.deliveredCount == begun.count, "\(token.deliveredCount) counted, \(begun)")
            let total = token.deliveredCount + token.droppedCount + token.discardedCount
            schedule.check(total == accepted.value, "\(total) accounted for, \(accepted.value) accepted")
            await counter.forget()
        }
    }

    /// Also of a call that was to be made, when its listener ended.
    @Test func aReportSaysDiscardedIfTheCountsDo() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let counter = Counter(schedule)
            await counter.listen(to: channel, schedule.policy())
            let discarded = Tally()
            await withTaskGroup { group in
                for number in 0..<4 {
                    group.addTask {
                        await schedule.turns(upTo: 6)
                        let report = await channel.postAndWait(Note(poster: 0, number: number, schedule))
                        discarded.add(report.discardedCount)
                    }
                }
                group.addTask {
                    await schedule.turns(upTo: 10)
                    await counter.cancel()
                }
            }
            let counted = await counter.token?.discardedCount ?? 0
            schedule.check(discarded.value == counted, "\(discarded.value) reported, \(counted) counted")
            await counter.forget()
        }
    }

    /// A call ends when it is cancelled. So each must be, but that for the last message.
    @Test func eachReplacedCallIsCancelledAndTheLastMessageIsHeard() async {
        await onSchedules { schedule in
            let faults = Recorder<Fault>()
            let channel = Channel<Note>(onFault: { faults.record($0) })
            let begun = Recorder<Int>()
            let ended = Recorder<Int>()
            let token = channel.listen(overlapping: .replace) { (note: Note) async throws in
                begun.record(note.number)
                var turns = 0
                while note.number < 6, turns < 1_000 {
                    try Task.checkCancellation()
                    turns += 1
                    await schedule.turn()
                }
                ended.record(note.number)
            }
            await withTaskGroup { group in
                for number in 0...6 {
                    let note = Note(poster: 0, number: number, schedule)
                    if schedule.chance(2) {
                        group.addTask {
                            let report = await channel.postAndWait(note)
                            let outcome = number == 6 ? report.completedCount : report.droppedCount
                            schedule.check(report.reachedCount == 1 && outcome == 1, "\(report) for \(number)")
                        }
                        while token.deliveredCount + token.waitingCount + token.droppedCount == number {
                            await schedule.turn()
                        }
                    } else {
                        channel.post(note)
                    }
                    await schedule.turns(upTo: 8)
                }
            }
            await token.drain()
            schedule.check(ended.all == [6], "ended \(ended.all), begun \(begun.all)")
            schedule.check(begun.all == begun.all.sorted(), "begun \(begun.all)")
            schedule.check(faults.all.isEmpty, "\(faults.all)")
            schedule.check(token.deliveredCount + token.droppedCount == 7, "\(token.droppedCount) dropped")
        }
    }

    @Test func noMessageIsIgnoredOnceTheOneBeforeIsDone() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let counter = Counter(schedule)
            await counter.listen(to: channel, .ignore)
            for number in 0..<5 {
                let report = await channel.postAndWait(Note(poster: 0, number: number, schedule))
                schedule.check(report.completedCount == 1, "\(report) for \(number)")
                await schedule.turns(upTo: 2)
            }
            let begun = await counter.begun.map(\.number)
            schedule.check(begun == Array(0..<5), "heard \(begun)")
            await counter.cancel()
            await counter.forget()
        }
    }

    /// Each call waits until another has begun.
    @Test func twoCallsRunAtATimeIfTwoMay() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let gates = (0..<4).map { _ in Gate() }
            let running = Tally()
            let token = channel.listen(overlapping: .concurrent(2)) { (note: Note) async in
                schedule.check(running.add() < 2, "three calls run")
                gates[note.number / 2 * 2 + (note.number + 1) % 2].open()
                await gates[note.number].wait()
                await schedule.turns()
                running.add(-1)
            }
            await post(4, as: 0, on: channel, schedule)
            await token.drain()
            schedule.check(token.deliveredCount == 4, "\(token.deliveredCount) delivered")
        }
    }

    @Test func anOwnerMayPostListenAndCancelInItsDeinit() async {
        await onSchedules { schedule in
            let policy = schedule.policy()
            let channel = Channel<Note> { _ in }
            let calls = Calls(schedule, policy)
            let token = Slot<ListenerToken>()
            let accepted = Tally()
            var owner: Parting? = Parting { parting in
                accepted.add(channel.post(Note(poster: 9, number: 0, schedule)))
                channel.listen(parting, overlapping: policy) { (_, note: Note) async in await calls.call(with: note) }
                accepted.add(channel.post(Note(poster: 9, number: 1, schedule)))
                token.value?.cancel()
            }
            token.value = channel.listen(owner!, overlapping: policy) { (_, note: Note) async in
                await calls.call(with: note)
            }
            let posting = Task { accepted.add(await post(5, as: 0, on: channel, schedule)) }
            await schedule.turns(upTo: 12)
            owner = nil
            _ = await posting.value
            await token.value?.cancelAndWait()
            calls.mustBeOver("cancelAndWait")
            guard let ended = token.value else { return }
            let total = ended.deliveredCount + ended.droppedCount + ended.discardedCount
            schedule.check(total == accepted.value, "\(total) accounted for, \(accepted.value) accepted")
            schedule.check(!calls.begun.contains { $0.poster == 9 }, "heard \(calls.begun)")
            schedule.check(channel.isEmpty, "it still has a listener")
            token.value = nil
        }
    }
}

/// The calls of one listener.
///
/// Unchecked: used by the one thread that runs the scenario.
private final class Calls: @unchecked Sendable {
    private(set) var begun: [Note] = []
    private var running = 0
    private var isOver = false
    private let most: Int
    private let schedule: Schedule

    init(_ schedule: Schedule, _ policy: OverlappingPolicy) {
        self.schedule = schedule
        most = policy == .concurrent(2) ? 2 : 1
    }

    func call(with note: Note) async {
        schedule.check(!isOver, "a call begins after the end")
        begun.append(note)
        running += 1
        schedule.check(running <= most, "\(running) calls run")
        await schedule.turns()
        running -= 1
    }

    /// No call runs, and none begins from now on.
    func mustBeOver(_ reason: String) {
        schedule.check(running == 0, "\(running) calls run after \(reason)")
        isOver = true
    }
}

/// An actor that listens, and ends the listener on its own isolation.
private actor Counter {
    private(set) var begun: [Note] = []
    private(set) var token: ListenerToken?
    private var hasCancelled = false
    private let schedule: Schedule

    init(_ schedule: Schedule) { self.schedule = schedule }

    func listen(to channel: Channel<Note>, _ policy: OverlappingPolicy) {
        token = channel.listen(self, overlapping: policy) { (me: isolated Counter, note: Note) async in
            await me.hear(note)
        }
    }

    func listenOnItself(to channel: Channel<Note>, _ policy: OverlappingPolicy) {
        token = channel.listen(overlapping: policy) { (note: Note) async in await self.hear(note) }
    }

    private func hear(_ note: Note) async {
        schedule.check(!hasCancelled, "call \(note) begins after cancel")
        begun.append(note)
        await schedule.turns()
    }

    func cancel() {
        token?.cancel()
        hasCancelled = true
    }

    func forget() {
        token = nil
        begun = []
    }
}

/// An object that does something in its deinit.
private final class Parting: Sendable {
    private let atEnd: @Sendable (Parting) -> Void

    init(atEnd: @escaping @Sendable (Parting) -> Void) { self.atEnd = atEnd }

    deinit { atEnd(self) }
}

extension Schedule {
    fileprivate func policy() -> OverlappingPolicy {
        [.queue, .replace, .ignore, .concurrent(2)][number(0...3)]
    }

    /// Posts with turns in between, and now and then waits for a post. Counts how many listeners were reached.
    fileprivate func postOrWait(_ count: Int, as poster: Int, on channel: Channel<Note>, _ reached: Tally) async {
        for number in 0..<count {
            let note = Note(poster: poster, number: number, self)
            if chance(3) {
                let report = await channel.postAndWait(note)
                reached.add(report.reachedCount)
                let total = report.completedCount + report.droppedCount + report.discardedCount + report.failures.count
                check(report.reachedCount == total, "\(report)")
            } else {
                reached.add(channel.post(note))
            }
            await turns()
        }
    }
}
