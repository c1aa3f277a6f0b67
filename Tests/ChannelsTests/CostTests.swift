import Channels
import Dispatch
import Foundation
import Testing

/// What does not get dearer with the number of others: in time of processors, in a process of its own, so that it does
/// not matter what else runs.
struct CostTests {
    enum Work: CaseIterable, Codable { case registering, addingAnObserver, asking, draining, cancellingReaders }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Work.allCases)
    func aListenerCostsTheSameAmongFewAndAmongMany(work: Work) async {
        await #expect(processExitsWith: .success) { [work] in
            endIfItHangs()
            let few = await Self.cost(of: work, among: 100)
            let many = await Self.cost(of: work, among: 10_000)
            #expect(many < few * 10, "\(many) ns instead of \(few)")
        }
    }

    @Test func registeringAndCancellingCostTheSameAfterThreadsThatCameAndWent() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let kept = channel.listen { _ in }
            let measure = { await Self.cost { for _ in 0..<100 { channel.listen { _ in }.cancel() } } }
            let none = await measure()
            let posted = Tally()
            await onThreads(512, stackSize: 256 << 10) { _ in
                channel.post(1)
                posted.add()
                // So that none has the record of another.
                posted.spin(until: 512)
            }
            var gone = Int.max
            // The last of them end in a moment.
            for _ in 0..<200 where gone > none * 4 { gone = await measure() }
            #expect(gone <= none * 4, "\(gone) ns instead of \(none)")
            withExtendedLifetime(kept) {}
        }
    }
    #endif

    private static func cost(of work: Work, among count: Int) async -> Int {
        switch work {
        case .registering:
            let (channel, owner) = (Channel<Int>(), Owner())
            for _ in 0..<count { channel.listen(owner) { _, _ in } }
            return await cost { for _ in 0..<100 { channel.listen(owner) { _, _ in }.cancel() } }
        case .addingAnObserver:
            let channel = ProtocolChannel<any Sounding>()
            let bells = (0...count).map { _ in Bell() }
            for bell in bells.dropFirst() { channel.add(bell) }
            return await cost {
                for _ in 0..<100 {
                    channel.add(bells[0])
                    channel.remove(bells[0])
                }
            }
        case .asking:
            let channel = RequestChannel<Int, Int>()
            let tokens = [channel.respond(priority: .high) { $0 }] + (0..<count).map { _ in channel.respond { $0 } }
            defer { withExtendedLifetime(tokens) {} }
            return await cost { for number in 0..<20 { _ = try? await channel.ask(number) } }
        case .draining: return await cost { await drain(count) } / count
        case .cancellingReaders: return await cost(rounds: 2) { await cancelReaders(count * 4) } / count
        }
    }

    /// Has so many tasks read one sequence, and cancels them, the last one first.
    private static func cancelReaders(_ count: Int) async {
        let channel = Channel<Int>()
        let (messages, begun) = (channel.messages(), Tally())
        let readers = (0..<count).map { _ in
            Task {
                begun.add()
                for await _ in messages {}
            }
        }
        await begun.wait(until: count)
        for reader in readers.reversed() { reader.cancel() }
        for reader in readers { await reader.value }
    }

    /// Drains so many listeners while a call of another one is under way, which all have to wait for.
    private static func drain(_ count: Int) async {
        let channel = Channel<Int>()
        let (entered, started, release) = (Tally(), Tally(), DispatchSemaphore(value: 0))
        let busy = channel.listen { _ in
            entered.add()
            release.wait()
        }
        let tokens = (0..<count).map { _ in channel.listen { _ in } }
        async let posting: Void = onThreads(1) { _ in channel.post(1) }
        await entered.wait(until: 1)
        await withTaskGroup { group in
            for token in tokens {
                group.addTask {
                    started.add()
                    await token.cancelAndWait()
                }
            }
            await started.wait(until: count)
            release.signal()
        }
        await posting
        withExtendedLifetime(busy) {}
    }

    /// The nanoseconds of processors that the process needs for it, at the best of a few times.
    private static func cost(rounds: Int = 10, _ work: () async -> Void) async -> Int {
        var best = Int.max
        for _ in 0..<rounds {
            let start = processorTime()
            await work()
            best = min(best, processorTime() - start)
        }
        return best
    }

    private static func processorTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
