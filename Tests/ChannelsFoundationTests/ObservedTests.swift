import Channels
import ChannelsFoundation
import ChannelsTesting
import Foundation
import Observation
import Testing

/// What a view does: it reads while Observation tracks, and reads again soon after a change.
@MainActor
private final class Drawing<Value: Sendable> {
    let drawn = Recorder<Value>()
    private let read: @MainActor () -> Value

    init(_ read: @escaping @MainActor () -> Value) {
        self.read = read
        draw()
    }

    private func draw() {
        let value = withObservationTracking {
            read()
        } onChange: { [weak self] in
            Task { @MainActor in self?.draw() }
        }
        drawn.record(value)
    }
}

@MainActor
@Suite(.hangLimit)
struct ObservedTests {
    let state = StateChannel(0)

    @Test func valueFollowsTheStateAtOnceOnTheMainActor() {
        let observed = state.observed
        #expect(observed.value == 0)
        state.set(1)
        #expect(observed.value == 1)
        state.update { $0 += 1 }
        #expect(observed.value == 2)
    }

    @Test func settingTheValueSetsTheState() {
        let observed = state.observed
        let heard = Recorder(of: state)
        observed.value = 5
        #expect(state.value == 5)
        #expect(observed.value == 5)
        #expect(heard.all == [0, 5])
    }

    @Test func burstOnTheMainActorIsDrawnOnce() async {
        let observed = state.observed
        let drawing = Drawing { observed.value }
        for value in 1...100 { state.set(value) }
        #expect(await drawing.drawn.first(2) == [0, 100])
        state.set(101)
        #expect(await drawing.drawn.first(3) == [0, 100, 101])
    }

    @Test func burstFromElsewhereIsDrawnOnce() async {
        let observed = state.observed
        let drawing = Drawing { observed.value }
        let state = state
        // The main actor is busy meanwhile. Not with a task of others, which may have to wait for a thread.
        let done = Tally()
        Thread.detachNewThread {
            for value in 1...100 { state.set(value) }
            done.add()
        }
        while done.value == 0 {}
        #expect(observed.value == 0)
        #expect(await drawing.drawn.first(2) == [0, 100])
        await Task.yield()
        #expect(drawing.drawn.count == 2)
    }

    @Test func lastValueIsShownWhateverRaces() async {
        let observed = state.observed
        let drawing = Drawing { observed.value }
        let state = state
        await onThreads(2) { thread in
            for _ in 0..<200 { state.update { $0 += 1 } }
        }
        let shown = await drawing.drawn.wait { $0.last == 400 }
        #expect(shown == shown.sorted())
        #expect(observed.value == 400)
    }

    @Test func aValueThatEqualsTheOneBeforeIsNoChange() {
        let observed = state.observed
        let changes = Tally()
        withObservationTracking {
            _ = observed.value
        } onChange: {
            changes.add()
        }
        state.set(0)
        observed.value = 0
        #expect(changes.value == 0)
        state.set(1)
        #expect(changes.value == 1)
    }

    @Test func observedThatIsReleasedStopsListening() {
        do {
            let observed = state.observed
            #expect(state.listenerCount == 1)
            withExtendedLifetime(observed) {}
        }
        #expect(state.listenerCount == 0)
    }
}

@MainActor @Observable
final class Basket {
    var items: [Int] = []
    var note = ""
    var total: Int { items.reduce(0, +) }
    var size: Int { 3 }
    /// An observable object is used on the main actor, and may be released anywhere.
    nonisolated init() {}
}

/// Computed from another object, which may outlive it.
@MainActor @Observable
final class Offer {
    var basket: Basket
    var reduced: Int { basket.total / 2 }
    init(_ basket: Basket) { self.basket = basket }
}

@MainActor
@Suite(.hangLimit)
struct ObservedPropertyTests {
    @Test func listenerHearsTheCurrentValueThenEachChange() async {
        let basket = Basket()
        let totals = basket.channel(for: \.total).messages(buffering: .unbounded)
        var iterator = totals.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        basket.items.append(3)
        #expect(await iterator.next() == 3)
        basket.items.append(4)
        #expect(await iterator.next() == 7)
    }

    @Test func changesOfOneTurnAreOneMessage() async {
        let basket = Basket()
        let heard = Recorder(of: basket.channel(for: \.total))
        for item in 1...10 { basket.items.append(item) }
        #expect(await heard.first(2) == [0, 55])
        basket.items = []
        #expect(await heard.first(3) == [0, 55, 0])
    }

    @Test func aNewListenerHearsTheValueOfTheMomentNotThatOfTheLastTurn() async {
        for _ in 0..<100 {
            let basket = Basket()
            let first = Recorder(of: basket.channel(for: \.total))
            basket.items = [1]
            let second = Recorder(of: basket.channel(for: \.total))
            #expect(second.all == [1])
            basket.items = [2]
            basket.items = [3]
            let third = Recorder(of: basket.channel(for: \.total))
            #expect(third.all == [3])
            await Task.yield()
            basket.items = [4]
            #expect(await first.wait { $0.last == 4 } == [0, 1, 3, 4])
            #expect(await second.wait { $0.last == 4 } == [1, 3, 4])
            #expect(await third.wait { $0.last == 4 } == [3, 4])
        }
    }

    @Test func aListenerRegisteredBeforeAChangeIsMadeHearsBothValues() async {
        let basket = Basket()
        let heard = Recorder<Int>()
        let total = basket.channel(for: \.total)
        let token = Locked<ListenerToken?>(nil)
        let first = Recorder(of: total)
        withObservationTracking {
            _ = basket.items
        } onChange: {
            MainActor.assumeIsolated { token.withLock { [made = total.listen { heard.record($0) }] in $0 = made } }
        }
        basket.items = [1]
        #expect(await heard.first(2) == [0, 1])
        basket.items = [2]
        #expect(await heard.first(3) == [0, 1, 2])
        #expect(await first.first(3) == [0, 1, 2])
    }

    @Test func otherPropertiesAreNotHeard() async {
        let basket = Basket()
        let heard = Recorder(of: basket.channel(for: \.total))
        basket.note = "gift"
        await Task.yield()
        basket.items = [1]
        #expect(await heard.first(2) == [0, 1])
    }

    @Test func listenersEndWithTheObject() async {
        var basket: Basket? = Basket()
        let ended = basket?.channel(for: \.total).messages()
        let token = basket?.channel(for: \.total).listen { _ in }
        weak let gone = basket
        basket = nil
        #expect(gone == nil)
        #expect(token?.isActive == false)
        var values: [Int] = []
        if let ended { for await value in ended { values.append(value) } }
        #expect(values == [0])
    }

    @Test func aChangeThatLeavesThePropertyEqualIsNotHeard() async {
        let basket = Basket()
        let heard = Recorder(of: basket.channel(for: \.total))
        basket.items = [0]
        await Task.yield()
        basket.items = [1, 2]
        #expect(await heard.first(2) == [0, 3])
        basket.items = [2, 1]
        await Task.yield()
        basket.items = [4]
        #expect(await heard.first(3) == [0, 3, 4])
    }

    @Test func aPropertyThatReadsNothingObservableIsHeardOnce() async {
        let heard = Recorder(of: Basket().channel(for: \.size))
        #expect(heard.all == [3])
        var values: [Int] = []
        for await value in Basket().channel(for: \.size).messages() { values.append(value) }
        #expect(values == [3])
    }

    @Test func listenersEndWithTheObjectAlsoIfItsPropertyIsKept() {
        var basket: Basket? = Basket()
        let kept = basket?.channel(for: \.total)
        let token = kept?.listen { _ in }
        #expect(token?.isActive == true)
        basket = nil
        #expect(token?.isActive == false)
        #expect(kept?.listen { _ in }.isActive == false)
    }

    @Test func listenersEndWhenWhatOutlivesTheObjectChanges() async {
        let basket = Basket()
        var offer: Offer? = Offer(basket)
        let reduced = offer?.channel(for: \.reduced).messages()
        offer = nil
        basket.items = [8]
        var values: [Int] = []
        if let reduced { for await value in reduced { values.append(value) } }
        #expect(values == [0])
    }

    @Test func listenersEndAsPropertiesOfFurtherObjectsAreListenedTo() {
        let basket = Basket()
        let tokens = (0..<1_000).map { _ in Offer(basket).channel(for: \.reduced).listen { _ in } }
        #expect(tokens.filter(\.isActive).count < 200)
    }

    @Test func objectHasOneChannelForEachProperty() {
        let (basket, other) = (Basket(), Basket())
        #expect(basket.channel(for: \.total) === basket.channel(for: \.total))
        #expect(basket.channel(for: \.total) !== other.channel(for: \.total))
        #expect(basket.channel(for: \.note) !== basket.channel(for: \.total) as AnyObject)
    }

    @Test func observationsOfAnyActorAreSentOnByPostingTheirSequence() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let basket = Basket()
        let totals = Channel<Int>()
        let heard = Recorder(of: totals)
        let task = Task { await Observations { basket.total }.post(to: totals) }
        _ = await heard.first(1)
        basket.items = [2]
        #expect(await heard.first(2) == [0, 2])
        task.cancel()
        await task.value
    }
}
