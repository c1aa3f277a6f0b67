#if canImport(Combine) || OpenCombine
public import Channels

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// Delivers a publisher's output as messages.
///
/// Create it with `Publisher.channel()`.
///
/// ```swift
/// typed.removeDuplicates().channel().listen(self) { me, text in me.search(text) }
/// ```
///
/// ## Behavior
///
/// - Each listener has its own subscription, like a `sink`. It subscribes before `listen` returns, and cancels the
///   subscription when it ends. To have one subscription for all listeners, `share()` the publisher. A deallocated
///   owner is noticed at the next value, or when another channel is created.
/// - The demand is unlimited; a listener's queue is bounded by its `buffering:`.
/// - Nonisolated listeners are called on the publisher's thread. So are main-actor listeners, if the publisher delivers
///   on the main queue.
/// - When the publisher finishes, queued messages are delivered; then listeners and sequences end.
///
/// You do not need to keep a `PublisherChannel`: the subscription keeps what the listener needs.
public struct PublisherChannel<Upstream: Publisher>: Listenable, @unchecked Sendable
where Upstream.Output: Sendable, Upstream.Failure == Never {
    // Unchecked because Combine does not declare its publishers as Sendable. It requires that they can be subscribed to
    // on any thread, and nothing else is done here.

    /// The publisher's output.
    public typealias Message = Upstream.Output

    private let upstream: Upstream

    init(_ upstream: Upstream) { self.upstream = upstream }

    /// Registers a listener and subscribes to the publisher.
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        let link = PublisherLink<Message>()
        let token = link.register(listener, isolation: isolation)
        upstream.subscribe(link)
        return token
    }
}

extension Publisher where Output: Sendable, Failure == Never {
    /// Returns a source that delivers the publisher's output to listeners.
    public func channel() -> PublisherChannel<Self> { PublisherChannel(self) }
}
#endif
