/// A typed publish/subscribe channel: carries messages of one type from those who post to those who listen.
///
/// ```swift
/// final class Till: Sendable { let sold = Channel<Sale>() }
/// let till = Till()
/// till.sold.listen(self) { me, sale in me.show(sale) }
/// till.sold.post(Sale(total: 12))
/// ```
///
/// ## Behavior
///
/// - A post reaches the listeners registered when it begins, by priority, then in the order of registration.
/// - A listener is called on its own isolation: before `post` returns if the poster has the same isolation or
///   the listener has none. Every other listener hears in its lane, one for each actor and each queue: what one
///   poster posts is heard there in the order posted, across channels, one call at a time, never overtaken.
/// - Owners are held weakly, and strongly during a call. Listeners end with their owner.
/// - No lock of the library is held while a listener runs: it may use any channel, this one included.
/// - A listener that throws raises a ``Fault`` and does not affect the others.
/// - When the channel is deallocated, what waits is delivered, then listeners become inactive and sequences
///   end.
///
/// Calling listeners directly takes no lock and allocates nothing; a message that waits takes the spin lock of its
/// lane. All methods may be called from any thread.
public final class Channel<Message: Sendable>: Listenable, Interceptable {
    @usableFromInline let list: ListenerList

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - reentrancy: What happens when a listener posts on the channel that is calling it.
    ///   - onFault: Called for each fault, on the thread that found it. By default a line is written to
    ///     standard error for the 1st, 2nd, 4th, 8th … of a kind and place.
    ///   - diagnostics: What is counted beyond mailboxes, drops and faults.
    public convenience init(
        reentrancy: Reentrancy = .nested(limit: 64),
        onFault: FaultHandler? = nil,
        diagnostics: Diagnostics = .off
    ) {
        self.init(name: nil, reentrancy: reentrancy, faults: .with(onFault), diagnostics: diagnostics)
    }

    init(name: String?, reentrancy: Reentrancy, faults: FaultReporter, diagnostics: Diagnostics) {
        list = ListenerList(
            layout: MessageLayout(Message.self),
            of: Self.self,
            kind: .messages,
            name: name,
            reentrancy: reentrancy,
            faults: faults,
            diagnostics: diagnostics
        )
    }

    deinit { list.close() }

    /// The name of the channel on its switchboard; nil if it has none.
    public var name: String? { list.name }

    /// The number of listeners, including paused ones and sequences, excluding interceptors.
    ///
    /// - Complexity: O(*n*): listeners whose owner has gone are removed first.
    public var listenerCount: Int { list.activeListenerCount }

    /// Whether there are no listeners.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Registers a listener that a form of ``Listenable`` has built.
    @inlinable
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        list.register(listener.registration)
    }

    /// Ends every listener and interceptor of an owner. One that is registered meanwhile may stay. A `once` listener
    /// whose message already waits for its actor or queue has ended, and still hears it: cancel its token to discard
    /// the message.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) { list.removeListeners(of: owner) }
}

extension Channel: CustomStringConvertible {
    /// The name or type, and how many listen.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")Channel<\(Message.self)>, \(list.listenerCountNow) listeners"
    }
}
