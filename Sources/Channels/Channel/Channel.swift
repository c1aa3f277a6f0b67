/// Carries messages of one type from posters to listeners.
///
/// ```swift
/// final class Till: Sendable { let sold = Channel<Sale>() }
/// let till = Till()
/// till.sold.listen(self) { me, sale in me.show(sale) }
/// till.sold.post(Sale(total: 12))
/// ```
///
/// ## Behavior
/// - A post reaches the listeners registered when it begins, in order of priority, then of registration.
/// - A listener runs in its own isolation domain. If it is nonisolated, or has the poster's isolation, it is called
///   before `post` returns, unless messages are queued for it or the post is deferred (``Reentrancy``). Otherwise it is
///   called through the lane of its actor or queue. A lane makes one call at a time, in the order of each poster's
///   posts, across channels.
/// - Owners are held weakly, but strongly during a call. Listeners end with their owner.
/// - No lock is held while a listener runs: it may use any channel, this one included.
/// - A listener that throws raises a ``Fault`` and does not affect the others.
/// - When the channel is deallocated or finished, queued messages are delivered; then listeners and sequences end.
///
/// A direct call of a listener to this channel takes no lock and allocates nothing. Enqueueing a message takes the spin
/// lock of its lane. All methods may be called from any thread.
public final class Channel<Message: Sendable>: Listenable, ListenerContainer {
    @usableFromInline let list: ListenerList

    /// Creates a channel.
    /// - Parameters:
    ///   - reentrancy: What happens to posts that the channel's listeners make while they are being called.
    ///   - onFault: Called for each fault. If nil, faults are written to standard error: see ``FaultHandler``.
    public convenience init(
        reentrancy: Reentrancy = .nested(limit: 64),
        onFault: FaultHandler? = nil
    ) {
        self.init(name: nil, reentrancy: reentrancy, faults: .with(onFault))
    }

    init(name: String?, reentrancy: Reentrancy, faults: FaultReporter) {
        list = ListenerList(
            layout: MessageLayout(Message.self),
            of: Self.self,
            kind: .messages,
            name: name,
            reentrancy: reentrancy,
            faults: faults
        )
    }

    deinit { list.close() }

    /// Registers a listener built by one of the `listen` methods.
    @inlinable
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        list.register(listener.registration)
    }

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .messages(Message.self)) }
}

extension Channel: CustomStringConvertible {
    /// The name, type and number of listeners.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")Channel<\(Message.self)>, \(list.listenerCountNow) listeners"
    }
}
