#if canImport(Combine) || OpenCombine
public import Channels

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// Publishes the messages of a source to Combine.
///
/// Create it with `publisher` or `publisher(buffering:)`.
///
/// ```swift
/// let log = till.sold.publisher.filter { $0.total > 100 }.sink { sale in print(sale.total) }
/// ```
///
/// ## Behavior
///
/// - A subscriber receives messages posted after it has subscribed; for a state, the current value first. Its listener
///   is nonisolated, so the subscriber is called before `post` returns, as with a subject.
/// - A subscriber never receives more than it has requested. Other messages are queued in its own buffer; drops from a
///   full buffer are counted (``droppedCount``).
/// - Calls to a subscriber never overlap, and are made in the order of each thread's posts. A thread that posts or
///   requests also delivers messages that other threads post meanwhile. After 64 of those, a background queue
///   continues, so that every `post` returns.
/// - The publisher finishes when the source is deallocated or finished, after the queued messages. It does not keep the
///   source alive.
public struct ChannelPublisher<Source: Listenable>: Publisher {
    /// The messages of the source.
    public typealias Output = Source.Message
    /// The publisher never fails.
    public typealias Failure = Never

    private let source: Source
    private let buffering: BufferingPolicy
    private let drops = DropCount()

    init(_ source: Source, _ buffering: BufferingPolicy) {
        self.source = source
        self.buffering = buffering
    }

    /// The number of messages dropped because a subscriber's buffer was full, summed over all subscribers to this
    /// publisher.
    public var droppedCount: Int { drops.value }

    /// Registers a listener for the subscriber.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
        let subscription = ChannelSubscription(subscriber, buffering, drops)
        // Done first, so that the subscriber receives the subscription before any message.
        subscriber.receive(subscription: subscription)
        subscription.start(listeningTo: source)
    }
}

extension Listenable {
    /// A publisher that starts with the first message after each subscription. Messages that exceed the demand are
    /// queued without limit.
    public var publisher: ChannelPublisher<Self> { ChannelPublisher(self, .automatic) }

    /// Returns a publisher that starts with the first message after each subscription.
    ///
    /// - Parameter buffering: How many messages may be queued for a subscriber, and which one is dropped when there are
    ///   more. `.newest(1)` suits a state.
    public func publisher(buffering: BufferingPolicy) -> ChannelPublisher<Self> { ChannelPublisher(self, buffering) }
}
#endif
