import Channels
import ChannelsTesting
import Foundation
import Testing

/// The schedules themselves: that they differ, repeat, and see what they are there to see.
struct ScheduleTests {
    @Test func oneSeedIsOneOrderOfTurnsAndSeedsDiffer() async {
        let orders = Recorder<[Int]>()
        await onThreads(1) { _ in
            for seed in [1, 1, 2, 3, 4, 5] {
                let turns = Recorder<Int>()
                #expect(problem(of: { await takeTurns(turns, $0) }, seed: seed) == nil)
                orders.record(turns.all)
            }
        }
        #expect(orders.all[0] == orders.all[1])
        #expect(Set(orders.all).count > 2)
    }

    /// A gate that nobody opens. Kept, so that the task which waits for it is no leak.
    private static let closed = Gate()

    @Test func aWakeUpThatIsLostIsSeen() async {
        let problems = Recorder<String?>()
        await onThreads(1) { _ in
            problems.record(problem(of: { _ in await Self.closed.wait() }, seed: 1, patience: 10))
        }
        #expect(problems.all.first??.contains("a wake-up was lost") == true)
    }

    @Test func aTaskThatAnotherThreadResumesGoesOnInTheScenario() async {
        let problems = Recorder<String?>()
        let resumed = Recorder<Bool>()
        await onThreads(1) { _ in
            let thread = CurrentThread.number
            let scenario: @Sendable (Schedule) async -> Void = { schedule in
                await withUnsafeContinuation { continuation in Thread.detachNewThread { continuation.resume() } }
                resumed.record(CurrentThread.number == thread)
            }
            problems.record(problem(of: scenario, seed: 1))
        }
        #expect(problems.all == [nil])
        #expect(resumed.all == [true])
    }

    @Test func callsThatOverlapAreSeenWithSomeSeed() async {
        let problems = Recorder<String?>()
        await onThreads(1) { _ in
            for seed in 0..<50 {
                let scenario: @Sendable (Schedule) async -> Void = { schedule in
                    async let first: Void = schedule.call()
                    async let second: Void = schedule.call()
                    _ = await (first, second)
                }
                problems.record(problem(of: scenario, seed: seed))
            }
        }
        #expect(problems.all.contains { $0?.contains("overlap") == true })
    }

    @Test func aLeakIsSeen() async {
        let kept = Slot<Witness>()
        let problems = Recorder<String?>()
        await onThreads(1) { _ in
            problems.record(problem(of: { kept.value = Witness($0.living) }, seed: 1, patience: 10))
        }
        #expect(problems.all.first??.contains("leaked") == true)
    }
}

private func takeTurns(_ turns: Recorder<Int>, _ schedule: Schedule) async {
    await withTaskGroup { group in
        for number in 0..<4 {
            group.addTask {
                for _ in 0..<3 {
                    turns.record(number)
                    await schedule.turn()
                }
            }
        }
    }
}
