/// The intermediary through which objects talk: carries messages of one type from whoever posts to whoever
/// listens.
///
/// ```swift
/// final class Till: Sendable { let sold = Channel<Sale>() }
/// till.sold.listen(self) { me, sale in me.show(sale) }
/// till.sold.post(Sale(total: 12))
/// ```
///
/// ## Behavior
///
/// - A post reaches the listeners registered when it begins, by priority, then in the order of registration.
/// - A listener that is isolated to an actor is called on it; if the poster has the same isolation, or the
///   listener none, before `post` returns. Every other listener has a mailbox: FIFO per poster, one call at a
///   time, never overtaken.
/// - Owners are held weakly, and strongly during a call. When an owner goes, its listeners go with it.
/// - No lock of the library is held while a listener runs: it may do anything, on this channel too.
/// - A listener that throws disturbs nobody else: it raises a ``Fault``.
/// - When the channel goes, its listeners become inactive after what waits for them has been delivered, and
///   sequences end.
///
/// Posting takes no lock and allocates nothing. All methods may be called from any thread.
public final class Channel<Message: Sendable>: Listenable, Interceptable {
    @usableFromInline let list: ListenerList

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - reentrancy: What happens when a listener posts on the channel that is calling it.
    ///   - onFault: Called for each fault, on the thread that found it; without one, a line on standard error
    ///     for the 1st, 2nd, 4th, 8th … of a kind and place.
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
            counts: diagnostics == .counts
        )
    }

    deinit {
        list.close()
    }

    /// The name under which a switchboard hands the channel out; nil where it has none.
    public var name: String? { list.name }

    /// How many listeners there are, paused ones and sequences included, interceptors not.
    ///
    /// - Complexity: O(*n*): listeners whose owner has gone are taken out first.
    public var listenerCount: Int { list.activeListenerCount }

    /// Whether nobody listens.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Registers a listener that a form of ``Listenable`` has built.
    @inlinable
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        list.register(listener.registration)
    }

    /// Ends every listener and interceptor of an owner.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) {
        list.removeListeners(of: owner)
    }
}

extension Channel: CustomStringConvertible {
    /// The name or type, and how many listen.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")Channel<\(Message.self)>, \(list.listenerCountNow) listeners"
    }
}
