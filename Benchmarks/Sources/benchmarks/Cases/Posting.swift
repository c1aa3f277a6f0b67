import Channels

/// Posting on channels of every kind.
enum Posting {
    static var cases: [Case] {
        Case.plain("channel-token", Floors.listeners, channelToken)
            + Case.plain("channel-weak", Floors.listeners, channelWeak)
            + Case.plain("channel-posts", Floors.listeners, channelPosts)
            + Case.plain("filter-by-hand", Floors.listeners, filterByHand)
            + Case.plain("filter-skips", Floors.listeners, filterSkips)
            + Case.plain("filter-passes", Floors.listeners, filterPasses)
            + Case.plain("map", Floors.listeners, map)
            + Case.plain("local-token", Floors.listeners, localToken)
            + Case.plain("local-weak", Floors.listeners, localWeak)
            + Case.main("main-actor", Floors.listeners, mainActor)
            + Case.plain("state-set", Floors.listeners, stateSet)
            + Case.plain("protocol-notify", Floors.listeners, protocolNotify)
    }

    private static func channelToken(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let tokens = counters(count).map { counter in channel.listen { counter.add($0) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func channelWeak(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let owners = counters(count)
        for owner in owners { channel.listen(owner) { me, number in me.add(number) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(owners) {}
        }
    }

    private static func channelPosts(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let owners = counters(count)
        for owner in owners { channel.posts.listen(owner) { me, post in me.add(post.message) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(owners) {}
        }
    }

    /// The listener itself skips every message.
    private static func filterByHand(_ count: Int) -> (Int) -> Void {
        adapted(count) { channel, counter in channel.listen { if $0 < 0 { counter.subtract($0) } } }
    }

    private static func filterSkips(_ count: Int) -> (Int) -> Void {
        adapted(count) { channel, counter in channel.filter { $0 < 0 }.listen { counter.subtract($0) } }
    }

    private static func filterPasses(_ count: Int) -> (Int) -> Void {
        adapted(count) { channel, counter in channel.filter { $0 >= 0 }.listen { counter.subtract($0) } }
    }

    private static func map(_ count: Int) -> (Int) -> Void {
        adapted(count) { channel, counter in channel.map { $0 &+ 1 }.listen { counter.subtract($0) } }
    }

    private static func adapted(_ count: Int, _ listen: (Channel<Int>, Counter) -> ListenerToken) -> (Int) -> Void {
        let channel = Channel<Int>()
        let tokens = counters(count).map { listen(channel, $0) }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func localToken(_ count: Int) -> (Int) -> Void {
        let channel = LocalChannel<Int>()
        let tokens = counters(count).map { counter in channel.listen { counter.add($0) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func localWeak(_ count: Int) -> (Int) -> Void {
        let channel = LocalChannel<Int>()
        let owners = counters(count)
        for owner in owners { channel.listen(owner) { me, number in me.add(number) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(owners) {}
        }
    }

    @MainActor
    private static func mainActor(_ count: Int) -> @MainActor (Int) -> Void {
        let channel = Channel<Int>()
        let owners = (0..<count).map { _ in Screen() }
        for owner in owners { channel.listen(owner) { me, number in me.add(number) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime(owners) {}
        }
    }

    private static func stateSet(_ count: Int) -> (Int) -> Void {
        let state = StateChannel(0)
        let tokens = counters(count).map { counter in state.listen { counter.add($0) } }
        return { operations in
            for number in 0..<operations { state.set(number) }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func protocolNotify(_ count: Int) -> (Int) -> Void {
        let channel = ProtocolChannel<any Adding>()
        let observers = counters(count)
        for observer in observers { channel.add(observer) }
        return { operations in
            for number in 0..<operations { channel.notify { $0.add(number) } }
            withExtendedLifetime(observers) {}
        }
    }
}

/// The protocol of the case `protocol-notify`.
private protocol Adding: AnyObject, Sendable {
    func add(_ number: Int)
}

extension Counter: Adding {}

/// An owner on the main actor.
@MainActor
private final class Screen {
    private var value = 0

    @inline(never)
    func add(_ number: Int) { value &+= number }
}
