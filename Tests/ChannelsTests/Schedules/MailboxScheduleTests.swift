import Channels
import ChannelsTesting
import Testing

/// Async and isolated listeners, in many orders of turns.
struct MailboxScheduleTests {
    @Test func callsOfAnAsyncListenerNeverOverlapAndAllComeInOrder() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let heard = Recorder<Note>()
            let token = channel.listen { (note: Note) async in await schedule.call { heard.record(note) } }
            await postFromTwo(on: channel, schedule)
            await channel.postAndWait(Note(poster: 9, number: 0, schedule))
            schedule.check(isInOrder(heard.all) && heard.count == 9, "heard \(heard.all)")
            schedule.check(token.deliveredCount == 9, "\(token.deliveredCount) delivered")
        }
    }

    @Test func anActorsAsyncListenerIsCalledThereOneCallAtATime() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let clerk = Clerk()
            let token = channel.listen(clerk) { (clerk: isolated Clerk, note: Note) async in
                clerk.assertIsolated()
                await schedule.call { clerk.note(note.number) }
            }
            await post(5, as: 0, on: channel, schedule)
            await channel.postAndWait(Note(poster: 0, number: 5, schedule))
            let notes = await clerk.notes
            schedule.check(notes == Array(0...5), "heard \(notes)")
            withExtendedLifetime(token) {}
        }
    }

    /// By turns on the actor, where the listener is called directly, and elsewhere, where it is called by its
    /// mailbox.
    @Test func aDirectCallNeverOvertakesWhatWaitsInTheMailbox() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let teller = Teller(schedule)
            channel.listen(teller) { (teller: isolated Teller, note) in teller.heard.append(note.number) }
            for number in 0..<8 {
                let note = Note(poster: 0, number: number, schedule)
                if schedule.chance(2) { await teller.post(note, on: channel) } else { channel.post(note) }
                await schedule.turns()
            }
            await channel.postAndWait(Note(poster: 0, number: 8, schedule))
            let heard = await teller.heard
            schedule.check(heard == Array(0...8), "heard \(heard)")
        }
    }

    @Test func deliveredDroppedAndDiscardedAddUpHoweverTheListenerEnds() async {
        await onSchedules { schedule in
            let channel = Channel<Note> { _ in }
            let policies: [BufferingPolicy] = [.unbounded, .oldest(1), .newest(2)]
            let policy = policies[schedule.number(0...2)]
            let calls = Tally()
            var owner: Owner? = Owner()
            let living = Witness(schedule.living)
            let token = channel.listen(owner!, buffering: policy) { (_, _: Note) async in
                calls.add()
                await schedule.call { withExtendedLifetime(living) {} }
            }
            let posting = Task { await post(8, as: 0, on: channel, schedule) }
            await schedule.turns(upTo: 15)
            switch schedule.number(0...3) {
            case 0: token.cancel()
            case 1: owner = nil
            case 2: await token.cancelAndWait()
            default: break
            }
            let accepted = await posting.value
            while token.waitingCount > 0 { await schedule.turn() }
            await token.cancelAndWait()
            let total = token.deliveredCount + token.droppedCount + token.discardedCount
            schedule.check(total == accepted, "\(total) accounted for, \(accepted) accepted")
            schedule.check(token.deliveredCount == calls.value, "\(token.deliveredCount) counted, \(calls.value) calls")
            withExtendedLifetime(owner) {}
        }
    }

    @Test func afterCancelAndWaitNoCallRunsAndNoneBegins() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let calls = Tally()
            let token = channel.listen { (_: Note) async in
                calls.add()
                await schedule.call()
            }
            let posting = Task { await post(6, as: 0, on: channel, schedule) }
            await withTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask {
                        await schedule.turns(upTo: 12)
                        await token.cancelAndWait()
                        schedule.check(!schedule.isRunning(), "a call runs after cancelAndWait")
                        let before = calls.value
                        await schedule.turns(upTo: 6)
                        schedule.check(calls.value == before, "a call began after cancelAndWait")
                    }
                }
            }
            _ = await posting.value
            schedule.check(token.waitingCount == 0, "\(token.waitingCount) wait")
        }
    }

    @Test func cancelAndWaitInsideItsOwnListenerReturns() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let slot = Slot<ListenerToken>()
            let calls = Tally()
            slot.value = channel.listen { (_: Note) async in
                await schedule.turns()
                calls.add()
                await slot.value?.cancelAndWait()
            }
            await withTaskGroup { group in
                group.addTask { _ = await post(3, as: 0, on: channel, schedule) }
                group.addTask { _ = await channel.postAndWait(Note(poster: 1, number: 0, schedule)) }
            }
            while schedule.living.value > 0 { await schedule.turn() }
            schedule.check(calls.value == 1, "\(calls.value) calls")
            schedule.check(slot.value?.isActive == false, "it is active")
            slot.value = nil
        }
    }

    @Test func onceIsCalledOnceAlsoByItsMailbox() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let calls = Tally()
            let clerk = Clerk()
            let token = channel.listen(once: true) { (_: Note) async in await schedule.call { calls.add() } }
            channel.listen(clerk, once: true) { (_: isolated Clerk, _) in calls.add() }
            await postFromTwo(on: channel, schedule)
            while calls.value < 2 { await schedule.turn() }
            await schedule.turns(upTo: 6)
            schedule.check(calls.value == 2, "\(calls.value) calls")
            withExtendedLifetime((token, clerk)) {}
        }
    }
}

/// Several listeners that share the lane of an actor, in many orders of turns.
struct LaneScheduleTests {
    @Test func whatTwoPostersPostOnTwoChannelsIsHeardInOrder() async {
        await onSchedules { schedule in
            let channels = [Channel<Note>(), Channel<Note>()]
            let teller = Teller(schedule)
            for channel in channels {
                channel.listen(teller) { (teller: isolated Teller, note) in teller.notes.append(note) }
            }
            await withTaskGroup { group in
                for poster in 0..<2 {
                    group.addTask {
                        for number in 0..<6 {
                            channels[schedule.number(0...1)].post(Note(poster: poster, number: number, schedule))
                            await schedule.turns(upTo: 2)
                        }
                    }
                }
            }
            while await teller.notes.count < 12 { await schedule.turn() }
            let notes = await teller.notes
            schedule.check(isInOrder(notes), "heard \(notes)")
        }
    }

    @Test func whatAnEndedListenerLeavesNeitherDelaysNorReordersOthers() async {
        await onSchedules { schedule in
            let channels = [Channel<Note>(), Channel<Note> { _ in }]
            let teller = Teller(schedule)
            channels[0].listen(teller) { (teller: isolated Teller, note) in teller.notes.append(note) }
            let policies: [BufferingPolicy] = [.unbounded, .newest(1), .oldest(2)]
            let (calls, accepted) = (Tally(), Tally())
            let policy = policies[schedule.number(0...2)]
            let ending = channels[1].listen(teller, buffering: policy) { (_: isolated Teller, _) in calls.add() }
            await withTaskGroup { group in
                group.addTask {
                    for number in 0..<10 {
                        let note = Note(poster: 0, number: number, schedule)
                        channels[0].post(note)
                        accepted.add(channels[1].post(note))
                        await schedule.turns(upTo: 1)
                    }
                }
                group.addTask {
                    await schedule.turns(upTo: 12)
                    await ending.cancelAndWait()
                }
            }
            while await teller.notes.count < 10 { await schedule.turn() }
            let notes = await teller.notes.map(\.number)
            schedule.check(notes == Array(0..<10), "heard \(notes)")
            let total = ending.deliveredCount + ending.droppedCount + ending.discardedCount
            schedule.check(total == accepted.value, "\(total) accounted for, \(accepted.value) accepted")
            schedule.check(ending.deliveredCount == calls.value, "\(calls.value) calls")
        }
    }
}

/// Two posters of four messages each.
func postFromTwo(on channel: Channel<Note>, _ schedule: Schedule) async {
    await withTaskGroup { group in
        for poster in 0..<2 { group.addTask { _ = await post(4, as: poster, on: channel, schedule) } }
    }
}

/// An actor that posts on its own isolation, and listens.
private actor Teller {
    var heard: [Int] = []
    var notes: [Note] = []
    private let schedule: Schedule

    init(_ schedule: Schedule) { self.schedule = schedule }

    func post(_ note: Note, on channel: Channel<Note>) { channel.post(note) }
}
