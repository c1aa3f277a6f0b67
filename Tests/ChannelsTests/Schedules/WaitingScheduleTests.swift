import Channels
import ChannelsTesting
import Testing

/// `postAndWait`, in many orders of turns.
struct WaitingScheduleTests {
    @Test func postAndWaitReturnsWhenAllHaveFinishedAndReportsThem() async {
        await onSchedules { schedule in
            let channel = Channel<Note> { _ in }
            let finished = Tally()
            let clerk = Clerk()
            let tokens = [
                channel.listen { (_: Note) async in
                    await schedule.call(1)
                    finished.add()
                },
                channel.listen { (_: Note) async throws in
                    await schedule.call(2)
                    finished.add()
                    throw Trouble()
                },
                channel.listen(buffering: .oldest(1)) { (_: Note) async in await schedule.call(3) },
                channel.listen(buffering: .newest(1)) { (_: Note) async in await schedule.call(4) },
            ]
            channel.listen(clerk) { (_: isolated Clerk, _) in finished.add() }
            let others = Task { await post(3, as: 0, on: channel, schedule) }
            await schedule.turns(upTo: 10)
            let before = finished.value
            let report = await channel.postAndWait(Note(poster: 1, number: 0, schedule))
            schedule.check(report.reachedCount == 5, "\(report)")
            let sum = report.completedCount + report.failures.count + report.droppedCount + report.discardedCount
            schedule.check(report.reachedCount == sum && report.failures.count == 1, "\(report) does not add up")
            schedule.check(finished.value >= before + 3, "\(finished.value - before) of 3 had finished")
            _ = await others.value
            for token in tokens { await token.cancelAndWait() }
            withExtendedLifetime(clerk) {}
        }
    }

    @Test func postAndWaitEndsWhenAListenerIsCancelledWhileItWaits() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let token = channel.listen { (_: Note) async in await schedule.call() }
            let waiting = (0..<3).map { number in
                Task { await channel.postAndWait(Note(poster: number, number: 0, schedule)) }
            }
            await schedule.turns(upTo: 15)
            if schedule.chance(2) { token.cancel() } else { await token.cancelAndWait() }
            for task in waiting {
                let report = await task.value
                schedule.check(
                    report.completedCount + report.discardedCount == report.reachedCount,
                    "\(report) does not add up"
                )
            }
        }
    }

    @Test func postAndWaitCancelledReturnsWhatHasFinishedThoughOthersGoOn() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let gate = Gate()
            let plain = channel.listen { _ in }
            let token = channel.listen { (_: Note) async in await gate.wait() }
            let waiting = Task { await channel.postAndWait(Note(poster: 0, number: 0, schedule)) }
            await schedule.cancel(waiting)
            let report = await waiting.value
            schedule.check(report.reachedCount == 2 && report.completedCount == 1, "\(report)")
            gate.open()
            await token.cancelAndWait()
            plain.cancel()
        }
    }

    /// Async listeners of two channels that post on each other's, each waiting for the other.
    @Test func thereIsNoCircleOfWaitsAlongOneChainOfListeners() async {
        await onSchedules { schedule in
            let channels = [Channel<Int>(), Channel<Int>()]
            let calls = Tally()
            let tokens = (0..<2).map { index in
                channels[index].listen { [other = channels[1 - index]] (depth: Int) async in
                    calls.add()
                    await schedule.turns()
                    if depth > 0 { await other.postAndWait(depth - 1) }
                }
            }
            await channels[0].postAndWait(3)
            while calls.value < 4 { await schedule.turn() }
            for token in tokens { await token.cancelAndWait() }
        }
    }

    @Test func postAndWaitEndsWhenTheOwnerGoesOrTheChannelDoes() async {
        await onSchedules { schedule in
            var channel: Channel<Note>? = Channel()
            var owner: Clerk? = Clerk()
            channel!.listen(owner!) { (_: isolated Clerk, _) in }
            let waiting = (0..<2).map { number in
                Task { [channel = channel!] in await channel.postAndWait(Note(poster: number, number: 0, schedule)) }
            }
            await schedule.turns(upTo: 6)
            channel = nil
            if schedule.chance(2) { owner = nil }
            for task in waiting {
                let report = await task.value
                schedule.check(
                    report.completedCount + report.discardedCount == report.reachedCount,
                    "\(report) does not add up"
                )
            }
            withExtendedLifetime(owner) {}
        }
    }
}
