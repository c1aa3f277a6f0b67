import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Every buffering policy, against a model that is an array.
struct BufferingTests {
    /// What a buffer should do.
    private struct Model {
        let limit: Int
        let keepsOldest: Bool
        var waiting: [Int] = []
        var dropped = 0
        /// What `.newest` drops is no fault.
        var reported: [Int] { keepsOldest ? Array(0..<dropped).map { $0 + 1 } : [] }

        mutating func post(_ message: Int) {
            guard waiting.count == limit else { return waiting.append(message) }
            dropped += 1
            guard !keepsOldest else { return }
            waiting.removeFirst()
            waiting.append(message)
        }
    }

    private static func policy(_ random: inout SeededGenerator) -> (BufferingPolicy, Model) {
        let limit = Int.random(in: 1...6, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return (.unbounded, Model(limit: .max, keepsOldest: true))
        case 1: return (.oldest(limit), Model(limit: limit, keepsOldest: true))
        default: return (.newest(limit), Model(limit: limit, keepsOldest: false))
        }
    }

    @Test(arguments: Seed.first(40))
    func aMailboxKeepsDropsReportsDeliversAndDiscardsAsTheModelSays(seed: Seed) async {
        var random = SeededGenerator(seed: seed.number)
        var (policy, model) = Self.policy(&random)
        let queue = DispatchQueue.suspended()
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let heard = Recorder<Int>()
        let token = channel.listen(on: queue, buffering: policy) { heard.record($0) }
        var delivered: [Int] = []
        var missed = 0
        var posted = 0
        for message in 0..<150 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                delivered += model.waiting
                model.waiting = []
                queue.resume()
                _ = await heard.wait(count: delivered.count)
                // The turn of the last call ends.
                await queue.settle()
                queue.suspend()
            case 1: token.isPaused ? token.resume() : token.pause()
            default:
                #expect(channel.post(message) == (token.isPaused ? 0 : 1))
                posted += 1
                if token.isPaused { missed += 1 } else { model.post(message) }
            }
            #expect(heard.all == delivered)
            #expect(token.waitingCount == model.waiting.count)
            #expect(token.droppedCount == model.dropped)
            #expect(token.deliveredCount == delivered.count)
            #expect(token.missedCount == missed)
            #expect(posted == delivered.count + token.waitingCount + token.droppedCount + missed)
        }
        #expect(faults.all.map(\.count) == model.reported)
        #expect(faults.all.allSatisfy { $0.code == .bufferOverflow && $0.registrationSite != nil })
        token.cancel()
        #expect(token.discardedCount == model.waiting.count && token.waitingCount == 0)
        #expect(posted == token.deliveredCount + token.droppedCount + token.discardedCount + token.missedCount)
        queue.resume()
        await queue.settle()
        #expect(heard.all == delivered)
    }

    @Test(arguments: Seed.first(40))
    func aSequenceKeepsDropsReportsAndYieldsAsTheModelSays(seed: Seed) async {
        var random = SeededGenerator(seed: seed.number)
        var (policy, model) = Self.policy(&random)
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let messages = channel.messages(buffering: policy)
        var iterators = [messages.makeAsyncIterator(), messages.makeAsyncIterator()]
        for message in 0..<150 {
            if Int.random(in: 0..<3, using: &random) == 0, !model.waiting.isEmpty {
                let reader = Int.random(in: 0..<2, using: &random)
                #expect(await iterators[reader].next() == model.waiting.removeFirst())
            } else {
                #expect(channel.post(message) == 1)
                model.post(message)
            }
            #expect(messages.waitingCount == model.waiting.count)
            #expect(messages.droppedCount == model.dropped)
        }
        #expect(faults.all.map(\.count) == model.reported)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aLimitThatIsNotPositiveTraps() async {
        await #expect(processExitsWith: .failure) { _ = BufferingPolicy.oldest(0) }
        await #expect(processExitsWith: .failure) { _ = BufferingPolicy.newest(-1) }
    }

    @Test func aStateTakesNoBufferThatKeepsTheOldest() async {
        await #expect(processExitsWith: .failure) {
            let state = StateChannel(0)
            withExtendedLifetime(state.listen(buffering: .oldest(1)) { _ in }) {}
        }
        await #expect(processExitsWith: .failure) { _ = StateChannel(0).messages(buffering: .oldest(1)) }
    }
    #endif
}
