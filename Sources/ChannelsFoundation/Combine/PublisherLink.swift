#if canImport(Combine) || OpenCombine
internal import Channels

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

/// The subscriber that posts what it receives to one listener. The publisher keeps it alive.
final class PublisherLink<Message: Sendable>: Subscriber, Sendable {
    typealias Input = Message
    typealias Failure = Never

    /// A subscription. Combine allows cancelling it on any thread.
    private struct Upstream: @unchecked Sendable { let subscription: any Subscription }

    private struct State: Sendable {
        /// The listener's channel; nil when the link has ended. The listener ends with it.
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
        // The channel exists, because there is no subscription or listener yet.
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

    /// Ends the listener. Done without the lock, because it may run user code.
    @discardableResult
    private func end() -> Upstream? {
        var ended = State()
        state.withLock { swap(&$0, &ended) }
        return ended.upstream
    }
}
#endif
