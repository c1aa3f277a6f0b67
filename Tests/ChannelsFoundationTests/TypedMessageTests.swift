import Channels
import ChannelsFoundation
import ChannelsTesting
import Foundation
import Testing

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
struct Sold: NotificationCenter.MainActorMessage, Sendable, Equatable {
    typealias Subject = Owner
    var number: Int
}

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
struct Shipped: NotificationCenter.AsyncMessage, Equatable {
    typealias Subject = Owner
    var number: Int
}

/// A message that does not equal itself, and counts how often it is compared.
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
private struct Measured: NotificationCenter.MainActorMessage, Sendable, Equatable {
    typealias Subject = Owner
    var comparisons: Tally

    static func == (first: Measured, second: Measured) -> Bool {
        first.comparisons.add()
        return false
    }
}

// A suite may not have the attribute, so each test has it.
@MainActor
@Suite(.hangLimit)
struct MainActorMessageTests {
    let center = NotificationCenter()

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func join(_ channel: Channel<Sold>, _ center: NotificationCenter) -> [ListenerToken] {
        [channel.forward(to: center), center.channel(of: Sold.self).forward(to: channel)]
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func observe(_ center: NotificationCenter) -> (Recorder<Int>, NotificationCenter.ObservationToken) {
        let heard = Recorder<Int>()
        return (heard, center.addObserver(of: nil, for: Sold.self) { heard.record($0.number) })
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func listenerOnTheMainActorHearsATypedMessageBeforePostReturns() {
        let heard = Recorder<Int>()
        let token = center.channel(of: Sold.self).listen { heard.record($0.number) }
        center.post(Sold(number: 1))
        center.post(Sold(number: 2), subject: Owner())
        #expect(heard.all == [1, 2])
        token.cancel()
        center.post(Sold(number: 3))
        #expect(heard.all == [1, 2])
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func observersHearWhatAChannelForwards() {
        let (heard, observer) = observe(center)
        let channel = Channel<Sold>()
        let token = channel.forward(to: center)
        channel.post(Sold(number: 1))
        #expect(heard.all == [1])
        withExtendedLifetime((token, observer)) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func whatIsPostedElsewhereIsForwardedOnTheMainActor() async {
        let (heard, observer) = observe(center)
        let channel = Channel<Sold>()
        let token = channel.forward(to: center)
        await onThreads(1) { _ in channel.post(Sold(number: 1)) }
        #expect(await heard.first(1) == [1])
        withExtendedLifetime((token, observer)) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func typedMessagesHaveNoEcho() {
        let (heard, observer) = observe(center)
        let channel = Channel<Sold>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center)
        channel.post(Sold(number: 1))
        center.post(Sold(number: 2))
        channel.post(Sold(number: 1))
        center.post(Sold(number: 1))
        #expect(taken.all.map(\.number) == [1, 2, 1, 1])
        #expect(heard.all == [1, 2, 1, 1])
        withExtendedLifetime((tokens, observer)) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func messagesThatDoNotEqualThemselvesAreNotKept() {
        let channel = Channel<Measured>()
        let tokens = [channel.forward(to: center), center.channel(of: Measured.self).forward(to: channel)]
        let comparisons = Tally()
        for _ in 0..<100 { channel.post(Measured(comparisons: comparisons)) }
        // Nothing of a message is left for the next to be compared with.
        #expect(comparisons.value <= 200)
        withExtendedLifetime(tokens) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func loopOverTwoCentersAndTwoChannelsEnds() {
        let other = NotificationCenter()
        let (heard, observer) = observe(center)
        let (otherHeard, otherObserver) = observe(other)
        let (first, second) = (Channel<Sold>(), Channel<Sold>())
        let tokens = join(first, center) + join(first, other) + join(second, center) + join(second, other)
        center.post(Sold(number: 1))
        #expect(heard.all == [1])
        #expect(otherHeard.all == [1, 1])
        withExtendedLifetime((tokens, observer, otherObserver)) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func reactionToWhatWasForwardedIsTakenIn() {
        let channel = Channel<Sold>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center)
        let observer = center.addObserver(of: nil, for: Sold.self) { [center] message in
            if message.number == 1 { center.post(Sold(number: 2)) }
        }
        channel.post(Sold(number: 1))
        #expect(taken.all.map(\.number) == [1, 2])
        withExtendedLifetime((tokens, observer)) {}
    }
}

@Suite(.hangLimit)
struct AsyncMessageTests {
    let center = NotificationCenter()

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func listenersHearATypedMessage() async {
        let heard = Recorder(of: center.channel(of: Shipped.self))
        center.post(Shipped(number: 1))
        #expect(await heard.first(1) == [Shipped(number: 1)])
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func observersHearWhatAChannelForwards() async {
        let heard = Recorder<Int>()
        let observer = center.addObserver(of: nil, for: Shipped.self) { heard.record($0.number) }
        let channel = Channel<Shipped>()
        let token = channel.forward(to: center)
        channel.post(Shipped(number: 1))
        #expect(await heard.first(1) == [1])
        withExtendedLifetime((token, observer)) {}
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func typedMessagesHaveNoEcho() async {
        let channel = Channel<Shipped>()
        let taken = Recorder(of: channel)
        let last = Recorder(of: center.channel(of: Shipped.self))
        let tokens = [channel.forward(to: center), center.channel(of: Shipped.self).forward(to: channel)]
        for number in 0..<100 { channel.post(Shipped(number: number)) }
        for number in 100..<200 { center.post(Shipped(number: number)) }
        // Foundation calls observers in any order: both have heard everything when all are here.
        await last.wait(count: 200)
        await taken.wait(count: 200)
        #expect(Set(last.all.map(\.number)) == Set(0..<200))
        #expect(taken.all.map(\.number).sorted() == Array(0..<200))
        withExtendedLifetime(tokens) {}
    }
}
