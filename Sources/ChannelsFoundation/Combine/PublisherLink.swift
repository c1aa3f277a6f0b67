#if canImport(Combine) || OpenCombine
internal import Channels

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

/// The subscriber that posts what it receives to one listener. The publisher keeps it.
final class PublisherLink<Message: Sendable>: Subscriber, Sendable {
    typealias Input = Message
    typealias Failure = Never

    /// What Combine hands out may be cancelled on any thread.
    private struct Upstream: @unchecked Sendable { let subscription: any Subscription }

    private struct State: Sendable {
        /// Nil when the link has ended; the listener ends with it.
        var channel: Channel<Message>?
        var upstream: Upstream?
    }

    private let state = Locked(State())

    init() {
        let link = WeakReference()
        let channel = Channel<Message>(name: nil) { (link.object as? PublisherLink)?.listeningChanged() }
        link.object = self
        state.withLock { $0.channel = channel }
    }

    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        // It exists: there is no subscription and no listener yet.
        guard let channel = state.withLock({ $0.channel }) else {
            fatalError("defect of swift-channels: a link is used twice")
        }
        return channel.register(listener, isolation: isolation)
    }

    func receive(subscription: any Subscription) {
        let isWanted = state.withLock { state in
            guard state.channel != nil, state.upstream == nil else { return false }
            state.upstream = Upstream(subscription: subscription)
            return true
        }
        if isWanted { subscription.request(.unlimited) } else { subscription.cancel() }
    }

    func receive(_ message: Message) -> Subscribers.Demand {
        state.withLock { $0.channel }?.postFromThisThread(message)
        return .none
    }

    func receive(completion: Subscribers.Completion<Never>) { end() }

    private func listeningChanged() {
        guard state.withLock({ $0.channel })?.hasListeners == false else { return }
        end()?.subscription.cancel()
    }

    /// Ends the listener, without the lock: it may run code of others.
    @discardableResult
    private func end() -> Upstream? {
        var ended = State()
        state.withLock { swap(&$0, &ended) }
        return ended.upstream
    }
}
#endif
