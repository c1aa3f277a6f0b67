import CCounting
import Channels

/// The bytes a listener takes, as the allocator rounds them, without its owner.
enum Memory {
    private static let count = 10_000

    static var figures: [Figure] {
        [
            Figure("bytes/token", "bytes", [token()]),
            Figure("bytes/weak", "bytes", [weak()]),
            Figure("bytes/channel", "bytes", [channel()]),
        ]
    }

    /// With its token, and with a closure that captures one object.
    private static func token() -> Double {
        let channel = Channel<Int>()
        let counter = Counter()
        var tokens: [ListenerToken] = []
        tokens.reserveCapacity(count)
        let bytes = liveBytes { for _ in 0..<count { tokens.append(channel.listen { counter.add($0) }) } }
        withExtendedLifetime(tokens) {}
        return bytes
    }

    /// With what the runtime allocates for the first weak reference to the owner.
    private static func weak() -> Double {
        let channel = Channel<Int>()
        let owners = counters(count)
        let bytes = liveBytes { for owner in owners { channel.listen(owner) { me, number in me.add(number) } } }
        withExtendedLifetime(owners) {}
        return bytes
    }

    private static func channel() -> Double {
        var channels: [Channel<Int>] = []
        channels.reserveCapacity(count)
        let bytes = liveBytes { for _ in 0..<count { channels.append(Channel<Int>()) } }
        withExtendedLifetime(channels) {}
        return bytes
    }

    private static func liveBytes(_ body: () -> Void) -> Double {
        let before = counting_live_bytes()
        counting_set(1)
        body()
        counting_set(0)
        return Double(counting_live_bytes() - before) / Double(count)
    }
}
