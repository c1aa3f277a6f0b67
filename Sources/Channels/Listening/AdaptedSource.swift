/// A source that passes on some messages of another source, or converts them.
@frozen @usableFromInline
struct AdaptedSource<Source: Listenable, Message: Sendable>: Listenable {
    @usableFromInline let source: Source
    /// Adapts a listener to the messages of the source. Called once per listener.
    @usableFromInline let adapt: @Sendable (consuming Listener<Message>) -> Listener<Source.Message>

    @inlinable
    init(
        _ source: Source,
        _ adapt: @escaping @Sendable (consuming Listener<Message>) -> Listener<Source.Message>
    ) {
        self.source = source
        self.adapt = adapt
    }

    @inlinable
    func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(adapt(listener), isolation: isolation)
    }
}

/// Adaptors: sources that pass on some messages, or convert them.
///
/// Order, isolation and a listener's place among the others come from the source. The adaptor's closure runs on the
/// poster's thread, once per message and listener, before the message is delivered or queued. `once:`, buffers and
/// sequences apply only to the messages that pass. A skipped message is included neither in the result of `post` nor in
/// the listener's counts. The adaptors of a paused listener are not called. An adaptor retains the source; its
/// listeners do not.
extension Listenable {
    /// Passes on the messages that satisfy a condition.
    ///
    /// ```swift
    /// till.sold.filter { $0.total > 100 }.listen(self, once: true) { me, sale in me.celebrate(sale) }
    /// ```
    ///
    /// - Parameter isIncluded: Runs on the poster's thread, once per message and listener. It must not block.
    @inlinable
    public func filter(_ isIncluded: @escaping @Sendable (Message) -> Bool) -> some Listenable<Message> {
        AdaptedSource(self) { $0.filtered(isIncluded) }
    }

    /// Transforms each message.
    ///
    /// - Parameter transform: Runs on the poster's thread, once per message and listener. It must not block.
    @inlinable
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Message) -> Other
    ) -> some Listenable<Other> {
        compactMap { transform($0) }
    }

    /// Transforms each message, and skips nil results.
    ///
    /// - Parameter transform: Runs on the poster's thread, once per message and listener. It must not block.
    @inlinable
    public func compactMap<Other: Sendable>(
        _ transform: @escaping @Sendable (Message) -> Other?
    ) -> some Listenable<Other> {
        AdaptedSource(self) { $0.compactAdapted(transform) }
    }

    /// Skips messages that equal the one before.
    ///
    /// ```swift
    /// typed.removingDuplicates().listen(self) { me, text in await me.search(text) }
    /// ```
    ///
    /// Each listener remembers its own last message, starting with the first one it receives. Messages are compared
    /// when they are posted, before they are queued, so a full buffer may still drop a message between two equal ones.
    /// If several threads post at the same time, the last message compared need not be the last one delivered. For a
    /// value that several threads set, use a ``StateChannel``, which has a single order. `==` runs on the poster's
    /// thread, without a lock. It must not block or post on this channel.
    @inlinable
    public func removingDuplicates() -> some Listenable<Message> where Message: Equatable {
        AdaptedSource(self) { $0.removingDuplicates() }
    }

    /// Limits each listener to its first `count` messages.
    ///
    /// The limit is exact even if several threads post at the same time. A listener is removed before its last call, so
    /// a post made in that call does not reach it. Queued messages are still delivered.
    ///
    /// - Parameter count: At least 1.
    @inlinable
    public func prefix(_ count: Int) -> some Listenable<Message> {
        requirePrefix(count)
        return AdaptedSource(self) { $0.limited(to: count) }
    }

    /// Passes on messages until one does not satisfy a condition.
    ///
    /// That message is not delivered, and the listener ends. Queued messages are still delivered.
    ///
    /// - Parameter predicate: Runs on the poster's thread, once per message and listener. It must not block.
    @inlinable
    public func prefix(while predicate: @escaping @Sendable (Message) -> Bool) -> some Listenable<Message> {
        AdaptedSource(self) { $0.limited(while: predicate) }
    }
}

/// - Precondition: `count` is positive.
@usableFromInline
func requirePrefix(_ count: Int) { require(count > 0, "prefix(\(count)): the count must be positive; write 1 or more") }

extension Listener where Message: Equatable & Sendable {
    @inlinable
    consuming func removingDuplicates() -> Listener<Message> {
        let last = LastMessage<Message>()
        return filtered { last.replace(with: $0) }
    }
}

/// The last message that passed, and how many have.
///
/// A lock guards it, because several threads may post at the same time. The lock is not held while messages are
/// compared, because `==` is user code.
@usableFromInline
final class LastMessage<Message: Equatable & Sendable>: Sendable {
    @usableFromInline let last = Locked<(message: Message?, count: Int)>((nil, 0))

    @usableFromInline
    init() {}

    /// Returns whether the message differs from the last one. If so, the message becomes the last one.
    @inlinable
    func replace(with message: Message) -> Bool {
        while true {
            let before = last.withLock { $0 }
            if let last = before.message, last == message { return false }
            // The old one is released without the lock.
            var other: Message? = message
            let isStored = last.withLock { last in
                guard last.count == before.count else { return false }
                swap(&last.message, &other)
                last.count += 1
                return true
            }
            if isStored { return true }
        }
    }
}

extension Listener {
    @inlinable
    consuming func filtered(_ isIncluded: @escaping @Sendable (Message) -> Bool) -> Listener<Message> {
        filtered(if: { message in message.lend(as: Message.self) { isIncluded($0) } })
    }

    @inlinable
    consuming func limited(to count: Int) -> Listener<Message> {
        let left = MessagesLeft(count)
        return adapting { message, _, deliver in
            let mine = left.countDown()
            return mine > 0 ? deliver(message, mine == 1) : .skipped
        }
    }

    @inlinable
    consuming func limited(while predicate: @escaping @Sendable (Message) -> Bool) -> Listener<Message> {
        adapting { message, _, deliver in
            message.lend(as: Message.self) { predicate($0) } ? deliver(message, false) : .ended
        }
    }
}
