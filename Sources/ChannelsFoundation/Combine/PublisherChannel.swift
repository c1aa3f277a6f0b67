#if canImport(Combine) || OpenCombine
public import Channels

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// What a publisher sends, as messages. Made by `Publisher.channel()`.
///
/// ```swift
/// typed.removeDuplicates().channel().listen(self) { me, text in me.search(text) }
/// ```
///
/// ## Behavior
///
/// - Each listener subscribes for itself, as each `sink` does, before `listen` returns, and cancels its
///   subscription when it ends; `share()` the publisher to have one for all. One whose owner was deallocated
///   is noticed with the next value, or when other channels are created.
/// - The demand is unlimited. What waits for a listener is bounded by its `buffering:`.
/// - Listeners without isolation are called on the thread that sends; those on the main actor, too, if that
///   is the main queue.
/// - Listeners end when the publisher finishes, and sequences with them, after what waits.
///
/// It need not be kept: the subscription keeps what the listener needs.
public struct PublisherChannel<Upstream: Publisher>: Listenable, @unchecked Sendable
where Upstream.Output: Sendable, Upstream.Failure == Never {
    // Unchecked because Combine does not say of its publishers that they are Sendable. It requires of them
    // that they can be subscribed to on any thread, and that is all that is done here.

    /// What listeners hear: what the publisher sends.
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
    /// What the publisher sends, as something to listen to. See ``PublisherChannel``.
    public func channel() -> PublisherChannel<Self> { PublisherChannel(self) }
}
#endif
