import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Rules 1 and 6: whom a post reaches, and in which order.
struct OrderTests {
    @Test(arguments: [ListenerPriority.low, .normal, .high])
    func aPostReachesThoseRegisteredWhenItBeginsAndNoneAddedLater(priority: ListenerPriority) {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let tokens = Recorder<ListenerToken>()
        let adding = channel.listen { message in
            if message == 1 { tokens.record(channel.listen(priority: priority) { heard.record($0) }) }
        }
        let last = channel.listen(priority: -1_000) { _ in }
        #expect(channel.post(1) == 2)
        #expect(heard.all == [])
        #expect(channel.post(2) == 3)
        #expect(heard.all == [2])
        withExtendedLifetime((adding, last)) {}
    }

    @Test func aListenerAddedByAnInterceptorMissesThatPost() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let tokens = Recorder<ListenerToken>()
        let interceptor = channel.intercept { _ in
            tokens.record(channel.listen { heard.record($0) })
            return .continue
        }
        #expect(channel.post(1) == 0)
        interceptor.cancel()
        #expect(channel.post(2) == 1)
        #expect(heard.all == [2])
    }

    @Test func aListenerAddedDuringAPostHearsPostsNestedInIt() {
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let tokens = Recorder<ListenerToken>()
        let first = channel.listen { message in
            heard.record("first \(message)")
            guard message == 1 else { return }
            tokens.record(channel.listen { heard.record("added \($0)") })
            #expect(channel.post(2) == 2)
        }
        #expect(channel.post(1) == 1)
        #expect(heard.all == ["first 1", "first 2", "added 2"])
        withExtendedLifetime(first) {}
    }

    @Test func higherPriorityIsCalledFirstAndWithinOneTheFirstRegistered() {
        let channel = Channel<Void>()
        let heard = Recorder<String>()
        let tokens = (0..<100).flatMap { number in
            [0, 7, -100, 100, Int.max, Int.min, 8].map { rank in
                channel.listen(priority: ListenerPriority(rank)) { heard.record("\(rank) \(number)") }
            }
        }
        channel.post()
        #expect(
            heard.all == [Int.max, 100, 8, 7, 0, -100, Int.min].flatMap { rank in (0..<100).map { "\(rank) \($0)" } }
        )
        withExtendedLifetime(tokens) {}
    }

    @Test func aPausedListenerKeepsItsPlaceInTheOrder() {
        let channel = Channel<Void>()
        let heard = Recorder<Int>()
        let tokens = (0..<4).map { index in channel.listen { heard.record(index) } }
        tokens[1].pause()
        tokens[1].resume()
        channel.post()
        #expect(heard.all == [0, 1, 2, 3])
        withExtendedLifetime(tokens) {}
    }

    /// Registers and cancels at random and compares with a sorted array.
    @Test(arguments: Seed.first(20))
    func theOrderIsByPriorityThenRegistrationWhateverCameAndWent(seed: Seed) {
        var random = SeededGenerator(seed: seed.number)
        let channel = Channel<Void>()
        let heard = Recorder<Int>()
        let owner = Owner()
        var model: [(rank: Int, number: Int, token: ListenerToken)] = []
        let spread = [1, 3, 40, 1_000][seed.number % 4]
        for number in 0..<600 {
            if Int.random(in: 0..<6, using: &random) == 0, !model.isEmpty {
                model.remove(at: Int.random(in: 0..<model.count, using: &random)).token.cancel()
            } else {
                let rank = Int.random(in: -spread...spread, using: &random)
                let token =
                    Bool.random(using: &random)
                    ? channel.listen(priority: ListenerPriority(rank)) { heard.record(number) }
                    : channel.listen(owner, priority: ListenerPriority(rank)) { _, _ in heard.record(number) }
                model.append((rank, number, token))
            }
            // So many at once that runs of priorities become empty.
            if number % 100 == 99 {
                model.shuffle(using: &random)
                for listener in model.suffix(model.count * 9 / 10) { listener.token.cancel() }
                model.removeLast(model.count * 9 / 10)
            }
            guard number % 10 == 0 else { continue }
            let expected = model.sorted { ($1.rank, $0.number) < ($0.rank, $1.number) }.map(\.number)
            #expect(channel.post() == expected.count)
            #expect(heard.takeAll() == expected)
            #expect(channel.listenerCount == expected.count)
        }
        withExtendedLifetime(owner) {}
    }

    @Test func interceptorsAreAskedByPriorityThenRegistrationBeforeAnyListener() {
        let channel = Channel<[String]>()
        let heard = Recorder<[String]>()
        let listener = channel.listen(priority: ListenerPriority(Int.max)) { heard.record($0) }
        let tokens = [("b", 0), ("c", 0), ("a", 5), ("d", -5)].map { name, rank in
            channel.intercept(priority: ListenerPriority(rank)) { .replace($0.message + [name]) }
        }
        #expect(channel.post([]) == 1)
        #expect(heard.all == [["a", "b", "c", "d"]])
        withExtendedLifetime((listener, tokens)) {}
    }

    @Test func aLocalChannelHasTheSameOrder() {
        let channel = LocalChannel<Void>()
        var heard: [Int] = []
        let tokens = [0, 1, 0, 5, -3, 1].enumerated().map { index, rank in
            channel.listen(priority: ListenerPriority(rank)) { heard.append(index) }
        }
        channel.post()
        #expect(heard == [3, 1, 5, 0, 2, 4])
        withExtendedLifetime(tokens) {}
    }

    // MARK: More priorities than stand in one run of the index

    @Test func interceptorsOfHundredsOfPrioritiesAreReachedHighestFirst() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        var tokens: [Int: ListenerToken] = [:]
        func add(_ priority: Int) {
            tokens[priority] = channel.intercept(priority: ListenerPriority(priority)) { _ in
                heard.record(priority)
                return .continue
            }
        }
        for index in 0..<200 { add(index * 37 % 200) }
        channel.post(0)
        #expect(heard.takeAll() == (0..<200).reversed())
        for priority in 20..<190 { tokens[priority]?.cancel() }
        for priority in stride(from: 20, to: 190, by: 7) { add(priority) }
        channel.post(0)
        #expect(heard.takeAll() == ([Int](0..<20) + stride(from: 20, to: 190, by: 7) + [Int](190..<200)).reversed())
        withExtendedLifetime(tokens) {}
    }

    /// An empty lane is kept for the next listener of its priority: it does not hold the channel, nor what
    /// listeners held.
    @Test func emptyLanesKeepNothingAlive() {
        let living = Tally()
        weak var gone: Channel<Witness>?
        do {
            let channel = Channel<Witness>()
            gone = channel
            for priority in 0..<100 {
                let witness = Witness(living)
                channel.listen(priority: ListenerPriority(priority)) { _ in withExtendedLifetime(witness) {} }.cancel()
                channel.intercept(priority: ListenerPriority(priority)) { _ in .continue }.cancel()
                #expect(living.value == 1)
            }
        }
        #expect(living.value == 0)
        #expect(gone == nil)
    }

    /// The drain has taken all messages of the first burst and called some listeners when the second burst
    /// arrives.
    @Test(arguments: [0, 70], [0, 1])
    func aBurstThatArrivesWhileAnotherIsDeliveredComesBehindIt(call: Int, others: Int) async {
        let queue = DispatchQueue.suspended()
        let channels = (Channel<Int>(), Channel<Int>())
        let heard = (Recorder<Int>(), Recorder<Int>())
        let reached = Gate()
        let proceed = DispatchSemaphore(value: 0)
        let first = channels.0.listen(on: queue) { number in
            heard.0.record(number)
            guard number == call else { return }
            reached.open()
            proceed.wait()
        }
        let second = channels.1.listen(on: queue) { heard.1.record($0) }
        func burst(_ numbers: Range<Int>) {
            for number in numbers {
                channels.0.post(number)
                for _ in 0..<others { channels.1.post(number) }
            }
        }
        burst(0..<5_000)
        queue.resume()
        await reached.wait()
        burst(5_000..<10_000)
        proceed.signal()
        await first.drain()
        await second.drain()
        #expect(heard.0.all == Array(0..<10_000), "the first")
        #expect(heard.1.all == (0..<10_000).flatMap { Array(repeating: $0, count: others) }, "the second")
    }
}
