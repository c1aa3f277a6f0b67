import Channels

/// Registering a listener and cancelling it, with others standing.
enum Registering {
    static let standing = [0, 100, 10_000, 100_000]

    static var cases: [Case] {
        Case.plain("register-token", standing, token)
            + Case.plain("register-weak", standing, weak)
            + Case.plain("register-priorities", standing, priorities)
    }

    private static func token(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let counter = Counter()
        let tokens = (0..<count).map { _ in channel.listen { counter.add($0) } }
        return { operations in
            for _ in 0..<operations { channel.listen { counter.add($0) }.cancel() }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func weak(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let owners = counters(count)
        let owner = Counter()
        for owner in owners { channel.listen(owner) { me, number in me.add(number) } }
        return { operations in
            for _ in 0..<operations { channel.listen(owner) { me, number in me.add(number) }.cancel() }
            withExtendedLifetime(owners) {}
        }
    }

    /// Five priorities are in use, and each registration has another one than the last.
    private static func priorities(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let counter = Counter()
        let priorities: [ListenerPriority] = [.low, -50, .normal, 50, .high]
        let tokens = (0..<count).map { number in channel.listen(priority: priorities[number % 5]) { counter.add($0) } }
        return { operations in
            for number in 0..<operations {
                channel.listen(priority: priorities[number % 5]) { counter.add($0) }.cancel()
            }
            withExtendedLifetime(tokens) {}
        }
    }
}
