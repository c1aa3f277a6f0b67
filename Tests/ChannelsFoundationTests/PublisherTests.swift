#if canImport(Combine) || OpenCombine
import Channels
import ChannelsFoundation
import ChannelsTesting
import Foundation
import Testing

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

/// A subscriber that asks for as much as the test says.
private final class Customer: Subscriber, @unchecked Sendable {  // used by one test
    typealias Input = Int
    typealias Failure = Never

    let heard = Recorder<Int>()
    var isFinished = false
    var subscription: (any Subscription)?
    private let first: Subscribers.Demand
    private let further: (Int) -> Subscribers.Demand

    init(_ first: Subscribers.Demand, further: @escaping (Int) -> Subscribers.Demand = { _ in .none }) {
        self.first = first
        self.further = further
    }

    func receive(subscription: any Subscription) {
        self.subscription = subscription
        subscription.request(first)
    }

    func receive(_ input: Int) -> Subscribers.Demand {
        heard.record(input)
        return further(input)
    }

    func receive(completion: Subscribers.Completion<Never>) { isFinished = true }
}

@Suite(.hangLimit)
struct ChannelPublisherTests {
    let channel = Channel<Int>()

    @Test func sinkIsCalledBeforePostReturns() {
        let heard = Recorder<Int>()
        let cancellable = channel.publisher.map { $0 * 2 }.sink { heard.record($0) }
        channel.post(1)
        channel.post(2)
        #expect(heard.all == [2, 4])
        cancellable.cancel()
        channel.post(3)
        #expect(heard.all == [2, 4])
        #expect(channel.isEmpty)
    }

    @Test func releasedCancellableStopsListening() {
        do {
            let cancellable = channel.publisher.sink { _ in }
            #expect(channel.listenerCount == 1)
            withExtendedLifetime(cancellable) {}
        }
        #expect(channel.isEmpty)
    }

    @Test func subscriberGetsNoMoreThanItHasAskedFor() {
        let customer = Customer(.max(2))
        channel.publisher.subscribe(customer)
        for number in 1...5 { channel.post(number) }
        #expect(customer.heard.all == [1, 2])
        customer.subscription?.request(.max(1))
        #expect(customer.heard.all == [1, 2, 3])
        customer.subscription?.request(.unlimited)
        channel.post(6)
        #expect(customer.heard.all == [1, 2, 3, 4, 5, 6])
    }

    @Test func demandThatIsReturnedCounts() {
        let customer = Customer(.max(1)) { $0.isMultiple(of: 2) ? .none : .max(1) }
        channel.publisher.subscribe(customer)
        for number in [1, 3, 4, 5] { channel.post(number) }
        #expect(customer.heard.all == [1, 3, 4])
        customer.subscription?.request(.max(1))
        #expect(customer.heard.all == [1, 3, 4, 5])
    }

    @Test func fullBufferDropsByItsPolicyAndCounts() {
        let (newest, oldest) = (Customer(.none), Customer(.none))
        let publishers = (channel.publisher(buffering: .newest(2)), channel.publisher(buffering: .oldest(2)))
        publishers.0.subscribe(newest)
        publishers.1.subscribe(oldest)
        for number in 1...5 { channel.post(number) }
        newest.subscription?.request(.unlimited)
        oldest.subscription?.request(.unlimited)
        #expect(newest.heard.all == [4, 5])
        #expect(oldest.heard.all == [1, 2])
        #expect(publishers.0.droppedCount == 3)
        #expect(publishers.1.droppedCount == 3)
    }

    @Test func stateSendsTheCurrentValueFirst() {
        let state = StateChannel(1)
        let heard = Recorder<Int>()
        let cancellable = state.publisher.sink { heard.record($0) }
        state.set(2)
        #expect(heard.all == [1, 2])
        withExtendedLifetime(cancellable) {}
    }

    @Test func publisherFinishesWithTheSourceAfterWhatWaits() {
        var channel: Channel<Int>? = Channel()
        let customer = Customer(.max(1))
        channel?.publisher.subscribe(customer)
        channel?.post(1)
        channel?.post(2)
        channel = nil
        #expect(customer.heard.all == [1])
        #expect(!customer.isFinished)
        customer.subscription?.request(.max(1))
        #expect(customer.heard.all == [1, 2])
        #expect(customer.isFinished)
    }

    @Test func aPublisherOfASourceThatHasFinishedCompletesAtOnce() {
        let state = StateChannel(1)
        channel.finish()
        state.finish()
        let ends = Recorder<String>()
        let sinks = [
            channel.publisher.sink { _ in
                ends.record("channel")
            } receiveValue: { _ in
            },
            state.publisher.sink { _ in
                ends.record("state")
            } receiveValue: { _ in
            },
        ]
        #expect(ends.all == ["channel", "state"])
        withExtendedLifetime(sinks) {}
    }

    @Test func publisherDoesNotKeepTheSourceAlive() {
        var channel: Channel<Int>? = Channel()
        weak let gone = channel
        let finished = Tally()
        let cancellable = channel?.publisher.sink { _ in
            finished.add()
        } receiveValue: { _ in
        }
        channel = nil
        #expect(gone == nil)
        #expect(finished.value == 1)
        withExtendedLifetime(cancellable) {}
    }

    @Test func subscriberMayCancelInsideACall() {
        let customer = Customer(.unlimited)
        let cancelling = Customer(.unlimited) { _ in .none }
        channel.publisher.subscribe(customer)
        channel.publisher.handleEvents().prefix(2).subscribe(cancelling)
        for number in 1...4 { channel.post(number) }
        #expect(cancelling.heard.all == [1, 2])
        #expect(cancelling.isFinished)
        #expect(customer.heard.all == [1, 2, 3, 4])
        #expect(channel.listenerCount == 1)
    }

    @Test func subscriberThatPostsIsCalledAgainAfterwards() {
        let channel = channel
        let heard = Recorder<Int>()
        let cancellable = channel.publisher.sink { number in
            if number < 3 { channel.post(number + 1) }
            heard.record(number)
        }
        channel.post(1)
        #expect(heard.all == [1, 2, 3])
        withExtendedLifetime(cancellable) {}
    }

    @Test func aPostDeliversAtMost64MessagesOfOthersBeforeItReturns() async {
        let (heard, threads) = (Recorder<Int>(), Recorder<ObjectIdentifier>())
        let (begun, posted) = (Tally(), Tally())
        let cancellable = channel.publisher.sink { number in
            threads.record(ObjectIdentifier(Thread.current))
            heard.record(number)
            begun.add()
            // Meanwhile another thread finds this one delivering.
            while posted.value == 0 { sched_yield() }
        }
        let channel = channel
        await onThreads(2) { thread in
            if thread == 0 {
                channel.post(0)
                // No other thread gets the address of this one before the end.
                while heard.count < 1_001 { sched_yield() }
                return
            }
            while begun.value == 0 { sched_yield() }
            for number in 1...1_000 { channel.post(number) }
            posted.add()
        }
        #expect(await heard.first(1_001) == Array(0...1_000))
        #expect(threads.all.filter { $0 == threads.all[0] }.count == 65)
        withExtendedLifetime(cancellable) {}
    }

    @Test func whatASubscriberPostsItselfIsDeliveredByItsThread() {
        let (heard, threads) = (Recorder<Int>(), Recorder<ObjectIdentifier>())
        let channel = channel
        let cancellable = channel.publisher.sink { number in
            threads.record(ObjectIdentifier(Thread.current))
            heard.record(number)
            if number < 500 { channel.post(number + 1) }
        }
        channel.post(0)
        #expect(heard.all == Array(0...500))
        #expect(Set(threads.all) == [ObjectIdentifier(Thread.current)])
        withExtendedLifetime(cancellable) {}
    }

    @Test func subscriberIsCalledOnceAtATimeWhateverThreadsPost() async {
        let channel = channel
        let (inside, overlaps, calls) = (Tally(), Tally(), Tally())
        let cancellable = channel.publisher.sink { _ in
            if inside.add() != 0 { overlaps.add() }
            calls.add()
            inside.add(-1)
        }
        await onThreads(4) { _ in for number in 0..<500 { channel.post(number) } }
        await calls.wait(until: 2_000)
        #expect(overlaps.value == 0)
        withExtendedLifetime(cancellable) {}
    }

    @Test func whatOneThreadPostsIsReceivedInItsOrder() async {
        let channel = channel
        let heard = Recorder<Int>()
        let cancellable = channel.publisher.sink { heard.record($0) }
        await onThreads(4) { thread in for number in 0..<500 { channel.post(thread * 1_000 + number) } }
        let all = await heard.wait(count: 2_000)
        for thread in 0..<4 {
            #expect(all.filter { $0 / 1_000 == thread } == (0..<500).map { thread * 1_000 + $0 })
        }
        withExtendedLifetime(cancellable) {}
    }
}

@Suite(.hangLimit)
struct PublisherChannelTests {
    @Test func listenersHearWhatThePublisherSends() {
        let subject = PassthroughSubject<Int, Never>()
        let heard = Recorder(of: subject.map { $0 * 2 }.channel())
        subject.send(1)
        subject.send(2)
        #expect(heard.all == [2, 4])
    }

    @Test func eachListenerSubscribesForItselfAndCancelsWhenItEnds() {
        let (subscribed, cancelled) = (Tally(), Tally())
        let subject = PassthroughSubject<Int, Never>()
        let channel = subject.handleEvents(
            receiveSubscription: { _ in subscribed.add() },
            receiveCancel: { cancelled.add() }
        )
        .channel()
        #expect(subscribed.value == 0)
        let first = channel.listen { _ in }
        let second = channel.listen(once: true) { _ in }
        #expect(subscribed.value == 2)
        subject.send(1)
        #expect(cancelled.value == 1)
        first.cancel()
        #expect(cancelled.value == 2)
        withExtendedLifetime(second) {}
    }

    @Test func publisherThatSendsAtOnceIsHeard() {
        let heard = Recorder<Int>()
        let token = [1, 2, 3].publisher.channel().listen { heard.record($0) }
        #expect(heard.all == [1, 2, 3])
        #expect(!token.isActive)
    }

    @Test func onceHearsOneOfThoseSentAtOnce() {
        let heard = Recorder<Int>()
        let token = [1, 2, 3].publisher.channel().listen(once: true) { heard.record($0) }
        #expect(heard.all == [1])
        withExtendedLifetime(token) {}
    }

    @Test func sequenceEndsWhenThePublisherFinishes() async {
        var heard: [Int] = []
        for await number in [1, 2, 3].publisher.channel().messages() { heard.append(number) }
        #expect(heard == [1, 2, 3])
    }

    @Test func ownerThatDiesSilentlyEndsTheSubscriptionAtTheNextValue() async {
        let cancelled = Tally()
        let subject = PassthroughSubject<Int, Never>()
        do {
            let owner = Owner()
            subject.handleEvents(receiveCancel: { cancelled.add() }).channel().listen(owner) { _, _ in }
        }
        subject.send(1)
        await cancelled.wait(until: 1)
    }

    @Test func listenersEndWithThePublisher() {
        var subject: PassthroughSubject<Int, Never>? = PassthroughSubject()
        let token = subject?.channel().listen { _ in }
        #expect(token?.isActive == true)
        subject?.send(completion: .finished)
        #expect(token?.isActive == false)
        subject = nil
    }

    @Test func roundTripKeepsOrder() {
        let channel = Channel<Int>()
        let heard = Recorder(of: channel.publisher.map { $0 }.channel())
        for number in 1...100 { channel.post(number) }
        #expect(heard.all == Array(1...100))
    }

    @MainActor
    @Test func listenerOnTheMainActorIsCalledDirectlyOnTheMainQueue() {
        let subject = PassthroughSubject<Int, Never>()
        let heard = Recorder<Int>()
        let token = subject.channel().listen { heard.record($0) }
        subject.send(1)
        #expect(heard.all == [1])
        withExtendedLifetime(token) {}
    }
}
#endif
