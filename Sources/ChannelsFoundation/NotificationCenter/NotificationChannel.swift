public import Channels

/// Delivers the notifications of one name as messages.
///
/// Create it with `NotificationCenter.channel(for:object:_:)` or `NotificationCenter.channel(of:)`.
///
/// ```swift
/// let calendar = NotificationCenter.default.channel(for: .NSCalendarDayChanged) { _ in Date() }
/// calendar.listen(self) { me, date in me.show(date) }
/// ```
///
/// ## Behavior
///
/// - The channel has one observer in the center as long as it has listeners, including paused ones. The observer is
///   registered when the first `listen` returns. A deallocated owner is noticed at the next notification, or when
///   another channel is created.
/// - The closure that makes the message is called once for each notification, on the thread that posts it. If it
///   returns nil, the notification is skipped.
/// - Nonisolated listeners are called on that thread, before the center's `post` returns. So are listeners on the main
///   actor, if the notification is posted on the main queue. All others are called from their mailboxes. Listeners are
///   called in order among themselves, as on any channel, but in no defined order relative to the center's other
///   observers.
/// - The channel does not keep the center alive. You do not need to keep the channel: it lives as long as it has
///   listeners.
///
/// In `posts`, the channel has the notification's name, and `sender` is used only for loop detection.
///
/// A listener that posts the same name to the same center creates a loop, which ends after 64 rounds with a fault. To
/// connect a channel and a center in both directions, use `forward`.
public final class NotificationChannel<Message: Sendable>: Listenable {
    /// Registers a channel with the center, and returns a closure that ends the registration. Runs under a lock, so it
    /// must not run user code.
    typealias Registering = @Sendable (NotificationChannel) -> (@Sendable () -> Void)?

    /// The stops that this channel adds to the route of its messages.
    private let leg: RouteLeg
    private let messages: Channel<Message>
    private let registering: Registering
    /// The center and the object observed.
    private let sources: [WeakReference]
    /// Ends the registration with the center; nil if there is none. Its lock is held while the center adds or removes
    /// an observer, so that the registration is complete when any `listen` returns. The center calls no user code
    /// meanwhile.
    private let ending = Locked<(@Sendable () -> Void)?>(nil)

    init(name: String, stop: NotificationRoute.Stop, sources: [WeakReference], registering: @escaping Registering) {
        leg = RouteLeg(stop)
        self.sources = sources
        self.registering = registering
        let reference = WeakReference()
        messages = Channel(name: name) { (reference.object as? NotificationChannel)?.registerIfNeeded() }
        reference.object = self
    }

    /// There is still a registration if the center, which keeps the channel, was deallocated.
    deinit { ending.withLock { $0 }?() }

    /// Registers a listener and, with the first one, an observer in the center.
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        defer { withExtendedLifetime(self) {} }
        return messages.register(listener, isolation: isolation)
    }

    /// The number of listeners, including paused ones and sequences.
    ///
    /// - Complexity: O(*n*): listeners of deallocated owners are removed first.
    public var listenerCount: Int { messages.listenerCount }

    /// Whether there are no listeners.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Ends every listener of an owner.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) { messages.removeListeners(of: owner) }

    private func registerIfNeeded() {
        // Kept until the lock is released, because the last reference must not be released under it.
        let kept = sources.map(\.object)
        ending.withLock { ending in
            if messages.hasListeners {
                if ending == nil { ending = registering(self) }
            } else if let end = ending {
                end()
                ending = nil
            }
        }
        withExtendedLifetime(kept) {}
    }

    /// Delivers a message from the center, on the thread that posts it.
    func arrive(_ message: Message, _ route: NotificationRoute?) {
        messages.postFromThisThread(message, from: leg.extending(route))
    }

    /// Delivers a message from the center that arrives on the main actor.
    @MainActor
    func arriveOnMainActor(_ message: Message, _ route: NotificationRoute?) {
        messages.post(message, from: leg.extending(route))
    }
}

extension NotificationChannel: CustomStringConvertible {
    /// The name of the notification, and the number of listeners.
    public var description: String {
        "\(messages.name ?? ""): NotificationChannel<\(Message.self)>, \(listenerCount) listeners"
    }
}
