import Channels
import ChannelsFoundation
import ChannelsTesting
import Foundation
import Testing

@Suite(.hangLimit)
struct ForwardTests {
    let center = NotificationCenter()

    /// What an observer that knows only the center hears.
    func observe(_ center: NotificationCenter, _ name: Notification.Name = .sold) -> Recorder<Int> {
        let heard = Recorder<Int>()
        _ = center.addObserver(forName: name, object: nil, queue: nil) { notification in
            heard.record(notification.userInfo?["number"] as? Int ?? -1)
        }
        return heard
    }

    /// Joins a channel and a name of a center, both ways.
    func join(_ channel: Channel<Int>, _ center: NotificationCenter, _ name: Notification.Name = .sold)
        -> [ListenerToken]
    {
        [
            channel.forward(to: center, as: name) { ["number": $0] },
            center.numbers(for: name).forward(to: channel),
        ]
    }

    @Test func observersOfTheCenterHearWhatAChannelForwards() {
        let heard = observe(center)
        let channel = Channel<Int>()
        let token = channel.forward(to: center, as: .sold) { ["number": $0] }
        channel.post(1)
        #expect(heard.all == [1])
        token.cancel()
        channel.post(2)
        #expect(heard.all == [1])
    }

    @Test func notificationHasTheObjectGiven() {
        let object = Owner()
        let heard = Recorder<Bool>()
        let observer = center.addObserver(forName: .sold, object: object, queue: nil) { notification in
            heard.record(notification.object as AnyObject === object)
        }
        let channel = Channel<Int>()
        let token = channel.forward(to: center, as: .sold, object: object)
        channel.post(1)
        #expect(heard.all == [true])
        withExtendedLifetime((token, observer)) {}
    }

    @Test func namedChannelsAndPostsAreForwarded() {
        let heard = observe(center)
        let board = Switchboard()
        let name: ChannelName<Int> = "number"
        let tokens = [
            board[name].forward(to: center, as: .sold) { ["number": $0] },
            board[name].posts.forward(to: center, as: .sold) { ["number": $0.message + 1] },
        ]
        board[name].post(1)
        #expect(heard.all == [1, 2])
        withExtendedLifetime(tokens) {}
    }

    @Test func whatCameFromTheCenterIsNotForwardedBack() {
        let heard = observe(center)
        let channel = Channel<Int>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center)
        center.post(1)
        #expect(taken.all == [1])
        #expect(heard.all == [1])
        withExtendedLifetime(tokens) {}
    }

    @Test func whatWasForwardedIsNotTakenInAgain() {
        let heard = observe(center)
        let channel = Channel<Int>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center)
        channel.post(1)
        #expect(taken.all == [1])
        #expect(heard.all == [1])
        withExtendedLifetime(tokens) {}
    }

    @Test func reactionOfAnObserverToWhatWasForwardedIsTakenIn() {
        let channel = Channel<Int>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center)
        let center = center
        let observer = center.addObserver(forName: .sold, object: nil, queue: nil) { notification in
            if notification.userInfo?["number"] as? Int == 1 { center.post(2) }
        }
        channel.post(1)
        #expect(taken.all == [1, 2])
        withExtendedLifetime((tokens, observer)) {}
    }

    @Test func otherChannelsOfTheNameHearWhatWasForwarded() {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let taken = (Recorder(of: first), Recorder(of: second), Recorder(of: center.numbers()))
        let tokens = join(first, center) + join(second, center)
        first.post(1)
        second.post(2)
        center.post(3)
        #expect(taken.0.all == [1, 2, 3])
        #expect(taken.1.all == [1, 2, 3])
        #expect(taken.2.all == [1, 2, 3])
        withExtendedLifetime(tokens) {}
    }

    @Test func loopOverTwoCentersEnds() {
        let other = NotificationCenter()
        let heard = (observe(center), observe(other))
        let channel = Channel<Int>()
        let taken = Recorder(of: channel)
        let tokens = join(channel, center) + join(channel, other)
        center.post(1)
        other.post(2)
        channel.post(3)
        #expect(taken.all == [1, 2, 3])
        #expect(heard.0.all == [1, 2, 3])
        #expect(heard.1.all == [1, 2, 3])
        withExtendedLifetime(tokens) {}
    }

    /// Each message reaches each center once from each channel that brings it there, and no more.
    @Test func loopOverTwoCentersAndTwoChannelsEnds() {
        let other = NotificationCenter()
        let heard = (observe(center), observe(other))
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let taken = (Recorder(of: first), Recorder(of: second))
        let tokens = join(first, center) + join(first, other) + join(second, center) + join(second, other)
        center.post(1)
        #expect(heard.0.all == [1])
        #expect(heard.1.all == [1, 1])
        #expect(taken.0.count == 2)
        #expect(taken.1.count == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test func loopOverTwoNamesEnds() {
        let heard = (observe(center, .sold), observe(center, .told))
        let channel = Channel<Int>()
        let tokens = join(channel, center, .sold) + join(channel, center, .told)
        center.post(1, as: .sold)
        #expect(heard.0.all == [1])
        #expect(heard.1.all == [1])
        withExtendedLifetime(tokens) {}
    }

    @Test func centersThatAreJoinedWithoutAChannelHaveNoEcho() {
        let other = NotificationCenter()
        let heard = (observe(center), observe(other))
        let tokens = [
            center.numbers().forward(to: other, as: .sold) { ["number": $0] },
            other.numbers().forward(to: center, as: .sold) { ["number": $0] },
        ]
        center.post(1)
        other.post(2)
        #expect(heard.0.all == [1, 2])
        #expect(heard.1.all == [1, 2])
        withExtendedLifetime(tokens) {}
    }

    @Test func namedChannelHasNoEcho() {
        let heard = observe(center)
        let board = Switchboard()
        let name: ChannelName<Int> = "number"
        let taken = Recorder(of: board[name])
        let tokens = [
            board[name].forward(to: center, as: .sold) { ["number": $0] },
            center.numbers().forward(to: board[name]),
        ]
        board[name].post(1)
        center.post(2)
        #expect(taken.all == [1, 2])
        #expect(heard.all == [1, 2])
        withExtendedLifetime(tokens) {}
    }

    /// System D: a state over a hub that others observe as they always have.
    @Test func stateIsObservedThroughTheCenterAndSetThroughIt() {
        let state = StateChannel(0)
        let heard = observe(center)
        let values = Recorder(of: state)
        let tokens = [
            state.forward(to: center, as: .sold) { ["number": $0] },
            center.numbers().forward(to: state),
        ]
        state.set(1)
        center.post(2)
        #expect(state.value == 2)
        #expect(values.all == [0, 1, 2])
        #expect(heard.all == [0, 1, 2])
        withExtendedLifetime(tokens) {}
    }

    @Test func nothingIsLostWhenManyThreadsPostOnBothSides() async {
        let channel = Channel<Int>()
        let (taken, heard) = (Recorder(of: channel), observe(center))
        let tokens = join(channel, center)
        let center = center
        await onThreads(4) { thread in
            for round in 0..<250 {
                let number = thread * 250 + round
                if thread.isMultiple(of: 2) { channel.post(number) } else { center.post(number) }
            }
        }
        #expect(taken.all.sorted() == Array(0..<1_000))
        #expect(heard.all.sorted() == Array(0..<1_000))
        withExtendedLifetime(tokens) {}
    }

    @Test func loopWiredByHandEnds() {
        let channel = Channel<Int>()
        let taken = Recorder(of: channel)
        let tokens = [
            center.numbers().listen { number in channel.post(number) },
            channel.forward(to: center, as: .sold) { ["number": $0] },
        ]
        center.post(1)
        #expect(taken.count <= 64)
        withExtendedLifetime(tokens) {}
    }
}
