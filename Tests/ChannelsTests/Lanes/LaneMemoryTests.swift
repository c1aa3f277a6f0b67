import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Neither what passes through lanes, buffers and sequences is kept, nor what is discarded or dropped there.
///
/// Each test has a process of its own, so that nothing else allocates meanwhile; see ``MemoryTests``.
struct LaneMemoryTests {
    /// More than Dispatch and `malloc` keep for their threads, and less than the smallest block for each of sixteen thousand times.
    private static var threadsKeep: Int { 400_000 }

    enum Kind: CaseIterable, Codable {
        case listenersOnAQueue, fullBuffers, actors, sequences, statesAndPatterns, requests

        func check() async {
            switch self {
            case .listenersOnAQueue: await LaneMemoryTests.listenersOnAQueue()
            case .fullBuffers: await LaneMemoryTests.fullBuffers()
            case .actors: await LaneMemoryTests.actors()
            case .sequences: await LaneMemoryTests.sequences()
            case .statesAndPatterns: await LaneMemoryTests.statesAndPatterns()
            case .requests: await LaneMemoryTests.requests()
            }
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Kind.allCases)
    func whatHearsAndWaitsAgainAndAgainIsGivenBack(kind: Kind) async {
        await #expect(processExitsWith: .success) { [kind] in
            endIfItHangs()
            await kind.check()
        }
    }
    #endif

    private static func listenersOnAQueue() async {
        let queue = DispatchQueue(label: "memory")
        let channel = Channel<[Int]>()
        await requireNoGrowth(beyond: threadsKeep) {
            for number in 0..<2_000 {
                let owner = Owner()
                let heard = channel.listen(on: queue) { _ in }
                channel.listen(owner, on: queue) { _, _ in }
                queue.suspend()
                for _ in 0..<4 { channel.post([number, number]) }
                heard.cancel()
                queue.resume()
                await channel.postAndWait([number])
            }
        }
    }

    private static func fullBuffers() async {
        let queue = DispatchQueue(label: "memory")
        let board = Switchboard(onFault: { _ in })
        let newest = board.channel("memory.newest" as ChannelName<[Int]>)
        let oldest = board.channel("memory.oldest" as ChannelName<[Int]>)
        let tokens = [
            newest.listen(on: queue, buffering: .newest(3)) { _ in },
            oldest.listen(on: queue, buffering: .oldest(3)) { _ in },
        ]
        await requireNoGrowth(beyond: threadsKeep) {
            for _ in 0..<100 {
                queue.suspend()
                for number in 0..<100 {
                    newest.post([number])
                    oldest.post([number])
                }
                queue.resume()
                await newest.postAndWait([0])
                await oldest.postAndWait([0])
            }
        }
        for token in tokens { token.cancel() }
    }

    private static func actors() async {
        let channel = Channel<[Int]>()
        await requireNoGrowth(beyond: threadsKeep) {
            for number in 0..<2_000 {
                let cook = Cook()
                channel.listen(cook) { cook, message in cook.cook(message) }
                let token = channel.listen { (message: [Int]) async in await cook.cook(message) }
                for _ in 0..<4 { channel.post([number]) }
                await channel.postAndWait([number])
                await token.cancelAndWait()
            }
        }
    }

    private static func sequences() async {
        let channel = Channel<[Int]>()
        let state = StateChannel([0])
        await requireNoGrowth(beyond: threadsKeep) {
            for number in 0..<2_000 {
                var messages = channel.messages().makeAsyncIterator()
                var values = state.messages().makeAsyncIterator()
                for _ in 0..<10 {
                    channel.post([number])
                    state.set([number])
                }
                for _ in 0..<4 { _ = await messages.next() }
                _ = await values.next()
            }
        }
    }

    private static func statesAndPatterns() async {
        let queue = DispatchQueue(label: "memory")
        let board = Switchboard()
        await requireNoGrowth(beyond: threadsKeep) {
            for number in 0..<1_000 {
                let state = board.state("memory.state" as StateName<[Int]>, initial: [number])
                let channel = board.channel("memory.posts" as ChannelName<[Int]>)
                let tokens = [
                    board[matching: "memory.>"].listen(on: queue) { _ in },
                    state.listen(on: queue) { _ in },
                    channel.listen(on: queue) { [weak state] in state?.set($0) },
                ]
                for round in 0..<4 {
                    state.set([number, round])
                    channel.post([round])
                }
                await channel.postAndWait([number])
                state.update { $0.append(number) }
                for token in tokens { await token.cancelAndWait() }
            }
        }
    }

    private static func requests() async {
        let requests = RequestChannel<Int, [Int]>()
        let cook = Cook()
        await requireNoGrowth(beyond: threadsKeep) {
            for number in 0..<1_000 {
                _ = try? await requests.ask(number)
                let token = requests.respond { request in await cook.answer(request) }
                _ = try? await requests.ask(number, timeout: .seconds(1_000))
                _ = await requests.askAll(number)
                token.cancel()
            }
            let token = requests.respond { _ in await never() }
            for number in 0..<5 { _ = try? await requests.ask(number, timeout: .milliseconds(1)) }
            await token.cancelAndWait()
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: [true, false])
    func whatABurstTookIsGivenBackWhenItHasBeenHeard(isBounded: Bool) async {
        await #expect(processExitsWith: .success) { [isBounded] in
            endIfItHangs()
            guard isMemoryMeasured() else { return }
            let policy = isBounded ? BufferingPolicy.oldest(100_000) : .unbounded
            let queue = DispatchQueue(label: "memory")
            let channel = Channel<Int>()
            let token = channel.listen(on: queue, buffering: policy) { _ in }
            await channel.postAndWait(0)
            let before = bytesInUse()
            queue.suspend()
            for number in 1..<100_000 { channel.post(number) }
            #expect(bytesInUse() - before > 800_000)
            queue.resume()
            await channel.postAndWait(0)
            let growth = bytesInUse() - before
            #expect(growth < 100_000, "\(growth) bytes more")
            token.cancel()
        }
    }

    @Test func aSequenceThatHasBeenReadKeepsOneBlock() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            guard isMemoryMeasured() else { return }
            // A block has 16 KB.
            let message = (0, 0, 0, 0, 0, 0, 0, 0)
            let channel = Channel<(Int, Int, Int, Int, Int, Int, Int, Int)>()
            let read = Tally()
            let count = 25
            let tasks = (0..<count).map { _ in
                let messages = channel.messages()
                return Task { for await _ in messages { read.add() } }
            }
            for _ in 0..<20 { channel.post(message) }
            await read.wait(until: 20 * count)
            let before = bytesInUse()
            for _ in 0..<2_000 { channel.post(message) }
            await read.wait(until: 2_020 * count)
            // The readers may be about to wait.
            await wait(for: (bytesInUse() - before) / count) { $0 <= 18_000 }
            for task in tasks { task.cancel() }
        }
    }

    @Test func whatWaitsForATimeLimitOfARecorderIsGivenBack() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let recorder = Recorder<Int>()
            let before = bytesInUse()
            for number in 0..<10_000 {
                async let next = recorder.next(timeout: .seconds(1_000))
                recorder.record(number)
                _ = try? await next
            }
            _ = recorder.takeAll()
            // A thread of Dispatch frees the timers, and may be behind.
            await wait(for: bytesInUse() - before) { $0 <= 1 << 20 }
        }
    }
    #endif

    /// Ends when its task is cancelled.
    private static func never() async -> [Int] {
        let nothing = AsyncStream<Never> { _ in }
        for await _ in nothing {}
        return []
    }
}

private actor Cook {
    private var last: [Int] = []
    func cook(_ message: [Int]) { last = message }
    func answer(_ request: Int) -> [Int] { [request] }
}
