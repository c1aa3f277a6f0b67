public import Channels

/// Delivers the notifications of one name as messages.
///
/// Made by `NotificationCenter.channel(for:object:_:)` and `NotificationCenter.channel(of:)`.
///
/// ```swift
/// let calendar = NotificationCenter.default.channel(for: .NSCalendarDayChanged) { _ in Date() }
/// calendar.listen(self) { me, date in me.show(date) }
/// ```
///
/// ## Behavior
///
/// - It has one observer in the center, from its first listener to its last, registered when `listen`
///   returns. A paused listener counts. A deallocated owner is noticed at the next notification, or when
///   another channel is created.
/// - The closure that makes the message is called on the thread that posts the notification, once for each
///   notification; nil skips it.
/// - Nonisolated listeners are called on that thread, before the center's `post` returns. So are listeners on
///   the main actor, if the notification is posted on the main queue. All others are called from their
///   mailboxes. They are ordered among themselves as on any channel, but not relative to the center's other
///   observers.
/// - It does not keep the center alive. You do not need to keep it: it lives as long as it has listeners.
///
/// In `posts`, the channel has the notification's name; `sender` is used for loop detection only.
///
/// A listener that posts the same name to the same center makes a loop, which ends after 64 turns with a
/// fault. To join a channel and a center in both directions use `forward`.
public final class NotificationChannel<Message: Sendable>: Listenable {
    /// Registers a channel with the center, and returns a closure that ends the registration. Runs under a
    /// lock, so it must not run others' code.
    typealias Registering = @Sendable (NotificationChannel) -> (@Sendable () -> Void)?

    /// The source of the messages, for their route.
    private let leg: RouteLeg
    private let messages: Channel<Message>
    private let registering: Registering
    /// The center and the object observed.
    private let sources: [WeakReference]
    /// Ends the registration with the center; nil if there is none. Its lock is held while the center adds or
    /// removes an observer, which calls nobody, so that each `listen` returns with the registration made.
    private let ending = Locked<(@Sendable () -> Void)?>(nil)

    init(name: String, stop: NotificationRoute.Stop, sources: [WeakReference], registering: @escaping Registering) {
        leg = RouteLeg(stop)
        self.sources = sources
        self.registering = registering
        let reference = WeakReference()
        messages = Channel(name: name) { (reference.object as? NotificationChannel)?.registerIfNeeded() }
        reference.object = self
    }

    /// Still registered if the center was deallocated, which keeps the channel.
    deinit { ending.withLock { $0 }?() }

    /// Registers a listener, and with the first one also an observer with the center.
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
        // Kept until the lock is given up: the last reference must not be released under it.
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

    /// Delivers a message of the center, on the thread that posts it.
    func arrive(_ message: Message, _ route: NotificationRoute?) {
        messages.postFromThisThread(message, from: leg.extending(route))
    }

    /// Delivers a message of the center that comes on the main actor.
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
