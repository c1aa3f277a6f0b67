import Channels
import ChannelsTesting
import Testing

/// What becomes of messages that come while an async listener is busy.
struct OverlappingTests {
    private let channel = Channel<Int>()
    private let begun = Recorder<Int>()
    private let ended = Recorder<Int>()

    /// A call that ends when the test says so, or when its task is cancelled.
    private func call(_ number: Int, until gate: Gate) async throws {
        begun.record(number)
        try await gate.waitUnlessCancelled()
        ended.record(number)
    }

    @Test func queueIsTheDefaultAndCallsOneAfterTheOther() async {
        let gate = Gate()
        let token = channel.listen { (number: Int) async throws in try await call(number, until: gate) }
        for number in 1...3 { channel.post(number) }
        await begun.wait(count: 1)
        #expect(token.waitingCount == 2)
        gate.open()
        await ended.wait(count: 3)
        #expect(ended.all == [1, 2, 3])
    }

    @Test func replaceCancelsTheRunningCallAndCallsWithTheNewest() async {
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(onFault: { faults.record($0) })
        let gate = Gate()
        let token = channel.listen(overlapping: .replace) { (number: Int) async throws in
            try await call(number, until: gate)
        }
        channel.post(1)
        await begun.wait(count: 1)
        channel.post(2)
        await begun.wait(count: 2)
        gate.open()
        await ended.wait(count: 1)
        #expect(begun.all == [1, 2] && ended.all == [2])
        #expect(faults.all.isEmpty)
        #expect(token.deliveredCount == 2)
    }

    @Test func whatWaitsBehindAReplacedCallIsDroppedButTheNewest() async {
        let (gate, replaced) = (Gate(), Gate())
        let token = channel.listen(overlapping: .replace) { (number: Int) async in
            begun.record(number)
            // The first does not listen to its cancellation.
            await (number == 1 ? gate : replaced).wait()
            ended.record(number)
        }
        channel.post(1)
        await begun.wait(count: 1)
        for number in 2...5 { channel.post(number) }
        #expect(token.droppedCount == 3 && token.waitingCount == 1)
        gate.open()
        replaced.open()
        await ended.wait(count: 2)
        #expect(ended.all == [1, 5])
    }

    @Test func aPostThatWaitsHearsThatItWasReplaced() async {
        let gate = Gate()
        let token = channel.listen(overlapping: .replace) { (number: Int) async throws in
            try await call(number, until: gate)
        }
        async let first = channel.postAndWait(1)
        await begun.wait(count: 1)
        async let second = channel.postAndWait(2)
        #expect(await first.droppedCount == 1)
        gate.open()
        #expect(await second.completedCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func ignoreDropsWhatComesWhileACallRuns() async {
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(onFault: { faults.record($0) })
        let gate = Gate()
        let token = channel.listen(overlapping: .ignore) { (number: Int) async throws in
            try await call(number, until: gate)
        }
        async let report = channel.postAndWait(1)
        await begun.wait(count: 1)
        #expect(await channel.postAndWait(2).droppedCount == 1)
        channel.post(3)
        gate.open()
        #expect(await report.completedCount == 1)
        #expect(token.droppedCount == 2 && faults.all.isEmpty)
        for number in 4...50 { #expect(await channel.postAndWait(number).completedCount == 1) }
        #expect(token.deliveredCount == 48)
    }

    @Test(arguments: [1, 3]) func concurrentRunsSoManyCallsAtATime(count: Int) async {
        let gates = (0..<10).map { _ in Gate() }
        let running = Tally()
        let token = channel.listen(overlapping: .concurrent(count)) { (number: Int) async in
            #expect(running.add() < count)
            begun.record(number)
            await gates[number].wait()
            running.add(-1)
            ended.record(number)
        }
        for number in 0..<10 { channel.post(number) }
        for number in 0..<10 {
            await begun.wait(count: min(number + count, 10))
            #expect(begun.all.sorted() == Array(0..<min(number + count, 10)))
            gates[number].open()
            await ended.wait(count: number + 1)
        }
        #expect(token.deliveredCount == 10)
    }

    @Test func aPostWaitsForAConcurrentCall() async {
        let gate = Gate()
        let token = channel.listen(overlapping: .concurrent(2)) { (number: Int) async throws in
            try await call(number, until: gate)
        }
        async let first = channel.postAndWait(1)
        await begun.wait(count: 1)
        async let second = channel.postAndWait(2)
        await begun.wait(count: 2)
        gate.open()
        #expect(await first.completedCount == 1)
        #expect(await second.completedCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func cancellingTheListenerCancelsTheCallUnderReplaceOnly() async {
        for overlapping in [OverlappingPolicy.queue, .replace, .ignore, .concurrent(2)] {
            let (entered, gate, isCancelled) = (Tally(), Gate(), Slot<Bool>())
            let token = channel.listen(overlapping: overlapping) { (_: Int) async in
                entered.add()
                await gate.wait()
                isCancelled.value = Task.isCancelled
            }
            channel.post(1)
            await entered.wait(until: 1)
            token.cancel()
            async let drained: Void = token.cancelAndWait()
            gate.open()
            await drained
            #expect(isCancelled.value == (overlapping == .replace))
        }
    }

    @Test(arguments: [OverlappingPolicy.queue, .replace, .concurrent(3)])
    func drainWaitsForTheCallsThatOverlap(overlapping: OverlappingPolicy) async {
        let gate = Gate()
        let token = channel.listen(overlapping: overlapping) { (number: Int) async throws in
            try await call(number, until: gate)
        }
        channel.post(1)
        await begun.wait(count: 1)
        async let finished: Void = token.drain()
        await wait(for: token.isActive) { !$0 }
        gate.open()
        await finished
        #expect(ended.all == [1])
    }

    @Test func callsRunOnTheActorOfTheirListener() async {
        actor Kitchen {
            var cooked: [Int] = []
            func cook(_ number: Int) { cooked.append(number) }
        }
        let kitchen = Kitchen()
        channel.listen(kitchen, overlapping: .concurrent(4)) { (me: isolated Kitchen, number: Int) async in
            me.assertIsolated()
            await Task.yield()
            me.cook(number)
        }
        for number in 1...100 { channel.post(number) }
        while await kitchen.cooked.count < 100 { await Task.yield() }
        #expect(await kitchen.cooked.sorted() == Array(1...100))
    }

    @MainActor @Test func callsRunOnTheMainActor() async {
        let heard = Recorder<Int>()
        let token = channel.listen(overlapping: .replace) { @MainActor (number: Int) async in
            MainActor.assertIsolated()
            await Task.yield()
            heard.record(number)
        }
        channel.post(1)
        await heard.wait(count: 1)
        withExtendedLifetime(token) {}
    }

    /// Whatever is cancelled and whenever: each message is accounted for, and the last one is heard.
    @Test(arguments: [OverlappingPolicy.replace, .ignore, .concurrent(3)])
    func everyMessageIsAccountedForThoughManyPost(overlapping: OverlappingPolicy) async {
        let last = Recorder<Int>()
        let token = channel.listen(overlapping: overlapping) { (number: Int) async in
            await Task.yield()
            if number < 0 { last.record(number) }
        }
        let reports = Locked((completed: 0, dropped: 0))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<250 {
                        let report = await channel.postAndWait(task * 250 + number)
                        reports.withLock {
                            $0 = ($0.completed + report.completedCount, $0.dropped + report.droppedCount)
                        }
                    }
                }
            }
        }
        #expect(reports.withLock { $0.completed + $0.dropped } == 1_000)
        #expect(token.deliveredCount + token.droppedCount == 1_000 && token.waitingCount == 0)
        #expect(await channel.postAndWait(-1).completedCount == 1)
        #expect(last.all == [-1])
    }

    @Test func aStateThatIsReplacedEndsWithTheValueStored() async {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.listen(overlapping: .replace) { (value: Int) async in
            await Task.yield()
            if !Task.isCancelled { heard.record(value) }
        }
        for value in 1...1_000 { state.set(value) }
        _ = await heard.wait { $0.last == 1_000 }
        withExtendedLifetime(token) {}
    }

    @Test func equalPartOfAStateReplacesNoCall() async {
        let state = StateChannel((total: 1, dish: "soup"))
        let gate = Gate()
        let token = state.map(\.total).removingDuplicates().listen(overlapping: .replace) { (total: Int) async throws in
            try await call(total, until: gate)
        }
        await begun.wait(count: 1)
        for dish in ["cake", "tea"] { state.set((1, dish)) }
        gate.open()
        await ended.wait(count: 1)
        #expect(begun.all == [1] && ended.all == [1] && token.droppedCount == 0)
    }

    @Test func concurrentCallsHearAPartThatHasChangedOnce() async {
        let state = StateChannel((total: 0, number: 0))
        let token = state.map(\.total).removingDuplicates().listen(overlapping: .concurrent(4)) { (total: Int) async in
            begun.record(total)
        }
        for number in 1...2_000 { state.set((number / 2, number)) }
        await token.drain()
        #expect(begun.all.sorted() == Array(0...1_000))
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func whatMakesNoSenseTraps() async {
        await #expect(processExitsWith: .failure) { _ = OverlappingPolicy.concurrent(0) }
        await #expect(processExitsWith: .failure) {
            _ = StateChannel(0).listen(overlapping: .ignore) { (_: Int) async in }
        }
    }
    #endif
}

extension Gate {
    /// Waits until the gate is open, or throws when the task is cancelled.
    func waitUnlessCancelled() async throws {
        while !isOpen {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
