import Testing

/// The schedules themselves: that they differ, repeat, and see what they are there to see.
struct ScheduleTests {
    @Test func oneSeedIsOneOrderOfTurnsAndSeedsDiffer() async {
        let orders = Heard<[Int]>()
        await onThreads(1) { _ in
            for seed in [1, 1, 2, 3, 4, 5] {
                let turns = Heard<Int>()
                #expect(problem(of: { await takeTurns(turns, $0) }, seed: seed) == nil)
                orders.add(turns.all)
            }
        }
        #expect(orders.all[0] == orders.all[1])
        #expect(Set(orders.all).count > 2)
    }

    /// A gate that nobody opens. Kept, so that the task which waits for it is no leak.
    private static let closed = Gate()

    @Test func aWakeUpThatIsLostIsSeen() async {
        let problems = Heard<String?>()
        await onThreads(1) { _ in
            problems.add(problem(of: { _ in await Self.closed.wait() }, seed: 1))
        }
        #expect(problems.all.first??.contains("a wake-up was lost") == true)
    }

    @Test func callsThatOverlapAreSeenWithSomeSeed() async {
        let problems = Heard<String?>()
        await onThreads(1) { _ in
            for seed in 0..<50 {
                let scenario: @Sendable (Schedule) async -> Void = { schedule in
                    async let first: Void = schedule.call()
                    async let second: Void = schedule.call()
                    _ = await (first, second)
                }
                problems.add(problem(of: scenario, seed: seed))
            }
        }
        #expect(problems.all.contains { $0?.contains("overlap") == true })
    }

    @Test func aLeakIsSeen() async {
        let kept = Slot<Witness>()
        let problems = Heard<String?>()
        await onThreads(1) { _ in
            problems.add(problem(of: { kept.value = Witness($0.living) }, seed: 1))
        }
        #expect(problems.all.first??.contains("leaked") == true)
    }
}

private func takeTurns(_ turns: Heard<Int>, _ schedule: Schedule) async {
    await withTaskGroup { group in
        for number in 0..<4 {
            group.addTask {
                for _ in 0..<3 {
                    turns.add(number)
                    await schedule.turn()
                }
            }
        }
    }
}
