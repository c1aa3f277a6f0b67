#if canImport(Combine) || OpenCombine
public import Channels

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// The messages of a source, for Combine. Made by `publisher` and `publisher(buffering:)`.
///
/// ```swift
/// let log = till.sold.publisher.filter { $0.total > 100 }.sink { sale in print(sale.total) }
/// ```
///
/// ## Behavior
///
/// - A subscriber listens from the moment it subscribes: without isolation, so that it is called before
///   `post` returns, as a subject calls it. Of a state, it gets the current value first.
/// - It never gets more than it has asked for. Messages that come meanwhile wait in a buffer of its own; a
///   message that a full buffer drops is counted (``droppedCount``).
/// - It is called once at a time, in the order of the posts of one thread: by a thread that posts or requests,
///   which also delivers what others post meanwhile. After 64 messages of others a queue continues instead, so
///   that every `post` returns.
/// - It finishes when the source is deallocated, after what waits. It does not keep the source alive.
public struct ChannelPublisher<Source: Listenable>: Publisher {
    /// What subscribers receive: the messages.
    public typealias Output = Source.Message
    /// It never fails.
    public typealias Failure = Never

    private let source: Source
    private let buffering: BufferingPolicy
    private let drops = DropCount()

    init(_ source: Source, _ buffering: BufferingPolicy) {
        self.source = source
        self.buffering = buffering
    }

    /// Messages dropped because a subscriber's buffer was full, of all subscribers of this publisher.
    public var droppedCount: Int { drops.value }

    /// Registers a listener for the subscriber.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
        let subscription = ChannelSubscription(subscriber, buffering, drops)
        // First, so that what comes at once is preceded by the subscription.
        subscriber.receive(subscription: subscription)
        subscription.start(listeningTo: source)
    }
}

extension Listenable {
    /// The messages from each subscription on, for Combine, with no bound on what waits for demand. See
    /// ``ChannelPublisher``.
    public var publisher: ChannelPublisher<Self> { ChannelPublisher(self, .unbounded) }

    /// The messages from each subscription on, for Combine. See ``ChannelPublisher``.
    ///
    /// - Parameter buffering: How many messages may wait for a subscriber's demand, and which is dropped when
    ///   one more arrives. `.newest(1)` suits a state.
    public func publisher(buffering: BufferingPolicy) -> ChannelPublisher<Self> { ChannelPublisher(self, buffering) }
}
#endif
