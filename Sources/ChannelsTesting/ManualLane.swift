public import Channels

/// Holds the messages of channels, and delivers them one by one when the test says so.
///
/// ```swift
/// let lane = ManualLane()
/// lane.hold(till.sold)
/// till.sell(soup)                      // held
/// display.hide()
/// await lane.deliver(1)                // delivers one message
/// ```
///
/// A manual lane holds messages before they reach a channel's listeners, whatever the listeners' isolation, so the code
/// under test does not change. Messages of several channels are held in the order posted.
///
/// - While a message is held, `post` returns 0 and `postAndWait` returns at once: no listener has been
///   reached.
/// - The sender, the origin and `echo:` are preserved. The messages are posted in the isolation in which
///   ``deliver(_:isolation:)`` is called.
/// - Messages that a listener posts on these channels during a delivery are also held.
/// - If a channel is held twice, by one lane or two, each message is delivered once, by the lane that held the channel
///   first.
/// - Other interceptors receive a message when it is delivered. States and requests cannot be held.
///
/// When the lane is released, held messages are lost, and later messages pass.
public final class ManualLane: Sendable {
    private struct Held {
        let deliver: @Sendable (isolated (any Actor)?) async -> Void
    }

    /// The held messages in the order posted. An index moves forward, so that elements need not be moved.
    private struct Waiting {
        private var held: [Held?] = []
        private var first = 0

        var count: Int { held.count - first }

        mutating func append(_ one: Held) { held.append(one) }

        mutating func popFirst() -> Held? {
            guard first < held.count else { return nil }
            defer {
                held[first] = nil
                first += 1
                if first * 2 > held.count {
                    held.removeFirst(first)
                    first = 0
                }
            }
            return held[first]
        }
    }

    /// Guarded by the lock; messages are delivered and released without it.
    private let waiting = Locked(Waiting())

    /// Creates a lane that holds nothing yet.
    public init() {}

    /// The number of held messages.
    public var waitingCount: Int { waiting.withLock { $0.count } }

    /// Holds the messages of a channel from now on.
    ///
    /// - Parameter channel: The channel, kept alive while its messages are held.
    public func hold<Message>(_ channel: Channel<Message>) {
        let holding = Holding()
        channel.withhold(self) { [weak channel] me, post, echo in
            guard let channel else { return false }
            if let pass = Pass.current, pass.use(for: channel, at: holding) { return false }
            let held = Held { isolation in
                await Pass.$current.withValue(Pass(channel)) {
                    await channel.postAgain(post, echo: echo, isolation: isolation)
                }
            }
            me.waiting.withLock { $0.append(held) }
            return true
        }
    }

    /// Holds the messages of a named channel from now on, and keeps the channel alive.
    public func hold<Message>(_ channel: NamedChannel<Message>) {
        hold(channel.channel)
    }

    /// Delivers held messages in the order posted, and suspends until their listeners have finished,
    /// including async ones.
    ///
    /// Listeners with the caller's isolation are called in it. Concurrent calls divide the held messages among
    /// themselves.
    ///
    /// - Parameter count: The maximum number of messages; by default, all that are held when the call begins.
    /// - Returns: How many were delivered.
    @discardableResult
    public func deliver(
        _ count: Int? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Int {
        let count = count ?? waitingCount
        var delivered = 0
        while delivered < count, let held = takeFirst() {
            await held.deliver(isolation)
            delivered += 1
        }
        return delivered
    }

    private func takeFirst() -> Held? {
        waiting.withLock { $0.popFirst() }
    }
}

/// Identifies one call of `hold`.
private final class Holding: Sendable {}

/// Lets one message of one channel pass: the first that is posted by the task that carries the pass. It passes every
/// lane that holds the channel, so that no lane holds what another delivers.
private final class Pass: Sendable {
    @TaskLocal static var current: Pass?

    private let channel: ObjectIdentifier
    private let passed = Locked<Set<ObjectIdentifier>>([])

    init(_ channel: AnyObject) { self.channel = ObjectIdentifier(channel) }

    /// Returns whether the message may pass. True once for each holding of the channel.
    func use(for channel: AnyObject, at holding: Holding) -> Bool {
        guard ObjectIdentifier(channel) == self.channel else { return false }
        return passed.withLock { $0.insert(ObjectIdentifier(holding)).inserted }
    }
}
