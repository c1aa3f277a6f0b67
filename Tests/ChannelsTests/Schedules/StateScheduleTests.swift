import Channels
import ChannelsTesting
import Testing

/// State channels, in many orders of turns.
struct StateScheduleTests {
    @Test func everyListenerGetsTheCurrentAndEveryLaterValueOnceInOrder() async {
        await onSchedules { schedule in
            let state = StateChannel(0)
            let clerk = Clerk()
            let heard = Recorder<Int>()
            let changing = Task { await change(state, times: 6, schedule) }
            await schedule.turns(upTo: 10)
            state.listen(clerk) { (clerk: isolated Clerk, value) in clerk.note(value) }
            let token = state.listen { (value: Int) async in await schedule.call { heard.record(value) } }
            await changing.value
            while heard.all.last != 6 { await schedule.turn() }
            while await clerk.notes.last != 6 { await schedule.turn() }
            for values in [heard.all, await clerk.notes] {
                schedule.check(values == Array((values.first ?? 0)...6), "heard \(values)")
            }
            withExtendedLifetime((clerk, token)) {}
        }
    }

    @Test func theValuesOfASequenceEndWithTheOneStored() async {
        await onSchedules { schedule in
            var state: StateChannel<Int>? = StateChannel(0) { _ in }
            let isUnbounded = schedule.chance(2)
            let values = state!.messages(buffering: isUnbounded ? .unbounded : .newest(1))
            let heard = Recorder<Int>()
            let reading = Task { for await value in values { heard.record(value) } }
            await change(state!, times: 6, schedule)
            state = nil
            await reading.value
            let all = heard.all
            schedule.check(all.last == 6, "the last of \(all) is not the value stored")
            schedule.check(zip(all, all.dropFirst()).allSatisfy(<), "heard \(all)")
            schedule.check(
                all.count + values.droppedCount == 7,
                "read \(all.count) + dropped \(values.droppedCount) is not 7"
            )
        }
    }

    @Test func nextOfAStateMissesNoValueThatWasSoonReplaced() async {
        await onSchedules { schedule in
            let state = StateChannel(0)
            let waiting = Task { await state.first { $0 == 3 } }
            while state.isEmpty { await schedule.turn() }
            async let cancelled: Void = schedule.cancel(waiting, oneTimeIn: 3, within: 20)
            for value in 1...5 {
                state.set(value)
                await schedule.turns(upTo: 1)
            }
            await cancelled
            let found = await waiting.value
            schedule.check(found == 3 || (found == nil && waiting.isCancelled), "found \(found as Int?)")
            schedule.check(state.isEmpty, "it still listens")
        }
    }

    @Test func aResumedListenerGetsTheCurrentValueAndAtLastTheLast() async {
        await onSchedules { schedule in
            let state = StateChannel(0)
            let heard = Recorder<Int>()
            let token = state.listen { (value: Int) async in await schedule.call { heard.record(value) } }
            let changing = Task { await change(state, times: 6, schedule) }
            for _ in 0..<3 {
                await schedule.turns()
                token.pause()
                await schedule.turns()
                token.resume()
            }
            await changing.value
            while heard.all.last != 6 || token.waitingCount > 0 { await schedule.turn() }
            schedule.check(zip(heard.all, heard.all.dropFirst()).allSatisfy(<=), "heard \(heard.all)")
        }
    }
}

private func change(_ state: StateChannel<Int>, times: Int, _ schedule: Schedule) async {
    for _ in 0..<times {
        state.update { $0 += 1 }
        await schedule.turns()
    }
}
