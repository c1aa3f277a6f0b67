/// Looks up channels by name or message type, and protocol channels by protocol.
///
/// ```swift
/// extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
/// let board = Switchboard()
/// board[.checkout].listen(self) { me, checkout in me.show(checkout) }
/// board[.checkout].post(Checkout(), from: self)
/// ```
///
/// ## Behavior
/// - A name has one channel for as long as anyone holds it, listens to it or intercepts it. Unused names take no memory
///   and may be reused with another type. A sequence, or a task in ``Listenable/first(isolation:fileID:line:where:)``,
///   counts as a listener; a listener to a pattern does not.
/// - A name has one kind (messages, state, requests) and one type. A conflict between typed names traps; a conflict
///   with a name given at run time throws ``ChannelError/Code/typeMismatch``. The trap's message, or the error, names
///   both types.
/// - Posting to a name without listeners costs a lookup and a match against the patterns, and stores nothing. If only
///   patterns match, a post costs about twice as much as one to a listener, and the first such post creates a channel
///   for those that follow. Up to 1,024 such channels are kept, each for as long as a pattern matches it.
/// - Named states and request channels are kept until ``removeState(_:)`` or ``removeRequests(_:)``.
/// - Everything else works as described for ``Channel``.
///
/// All methods may be called from any thread.
public final class Switchboard: Sendable {
    /// The switchboard of the process.
    public static let shared = Switchboard()

    let reentrancy: Reentrancy
    let faults: FaultReporter
    package let instruments = Instruments()
    let observer = InstrumentSlot()
    let registry = Registry()
    let patterns = PatternListeners()
    let protocols = ProtocolRegistry()
    let reference: SwitchboardReference

    /// Creates a switchboard.
    /// - Parameters:
    ///   - reentrancy: The default for its channels.
    ///   - onFault: Called for each fault. If nil, faults are written to standard error: see ``FaultHandler``.
    public init(reentrancy: Reentrancy = .nested(limit: 64), onFault: FaultHandler? = nil) {
        self.reentrancy = reentrancy
        faults = FaultReporter(onFault, instruments)
        reference = SwitchboardReference(registry, patterns)
        reference.switchboard = self
    }

    /// Returns the channel of a name, creating it if needed.
    /// - Parameter reentrancy: Used if this call creates the channel. An existing channel keeps its own; if that
    ///   differs, a fault is raised.
    /// - Precondition: The name is not in use for another kind or type.
    /// - Complexity: O(1).
    @inlinable
    public func channel<Message: Sendable>(_ name: ChannelName<Message>, reentrancy: Reentrancy? = nil) -> Channel<
        Message
    > {
        if reentrancy == nil, let found = find(name.key, ofMessages: Message.self) {
            // A channel found under a type of message is a channel of that type.
            return known(found, as: Channel<Message>.self)
        }
        return channel(name.key, reentrancy: reentrancy)
    }

    @usableFromInline
    func find(_ key: NameKey, ofMessages type: any Any.Type) -> AnyObject? {
        registry.withShard(of: key) { $0.channel(key, ofMessages: ObjectIdentifier(type)) }
    }

    /// The list of a name, whatever kind of channel it stands for.
    func list(_ key: NameKey) -> ListenerList? { registry.withShard(of: key) { $0.list(key) } }

    @usableFromInline
    func channel<Message: Sendable>(_ key: NameKey, reentrancy: Reentrancy?) -> Channel<Message> {
        Self.unwrap { try channel(key: key, of: Message.self, reentrancy: reentrancy) }
    }

    /// Returns the channel of a name given at run time, creating it if needed.
    /// - Throws: ``ChannelError`` if the name is invalid, or in use for another kind or type.
    public func channel<Message: Sendable>(
        _ name: String,
        of type: Message.Type,
        reentrancy: Reentrancy? = nil
    ) throws -> Channel<Message> {
        let key = try NameKey(validating: name)
        if reentrancy == nil, let found = find(key, ofMessages: type) {
            // A channel found under a type of message is a channel of that type.
            return known(found, as: Channel<Message>.self)
        }
        return try channel(key: key, of: type, reentrancy: reentrancy)
    }

    /// Returns the state of a name, creating it if needed. It is kept until it is removed.
    /// - Parameter initial: The first value; not evaluated if the state exists.
    /// - Precondition: The name is not in use for another kind or type.
    public func state<State: Sendable>(_ name: StateName<State>, initial: @autoclosure () -> State) -> StateChannel<
        State
    > {
        Self.unwrap { try state(key: name.key, of: State.self, initial: initial) }
    }

    /// Returns the state of a name given at run time, creating it with a first value if needed.
    /// - Throws: ``ChannelError`` if the name is invalid, or in use for another kind or type.
    public func state<State: Sendable>(
        _ name: String,
        of type: State.Type,
        initial: @autoclosure () -> State
    ) throws -> StateChannel<State> {
        try state(key: NameKey(validating: name), of: type, initial: initial)
    }

    /// Returns the request channel of a name, creating it if needed. It is kept until it is removed.
    /// - Precondition: The name is not in use for another kind or for other types.
    public func requests<Request: Sendable, Response: Sendable>(
        _ name: RequestName<Request, Response>
    ) -> RequestChannel<Request, Response> {
        Self.unwrap { try requests(key: name.key, of: Request.self, returning: Response.self) }
    }

    /// Returns the request channel of a name given at run time, creating it if needed.
    /// - Throws: ``ChannelError`` if the name is invalid, or in use for another kind or type.
    public func requests<Request: Sendable, Response: Sendable>(
        _ name: String,
        of request: Request.Type,
        returning response: Response.Type
    ) throws -> RequestChannel<Request, Response> {
        try requests(key: NameKey(validating: name), of: request, returning: response)
    }

    /// Frees the name of a channel. A channel you still hold keeps working, but without its name or pattern
    /// listeners.
    /// - Returns: Whether the name was in use.
    @discardableResult
    public func removeChannel<Message: Sendable>(_ name: ChannelName<Message>) -> Bool {
        remove(name.key)
    }

    /// Removes the channel of a type of message. A channel you still hold keeps working, but the switchboard no longer
    /// returns it.
    /// - Returns: Whether there was one.
    @discardableResult
    public func removeChannel<Message: Sendable>(_ type: Message.Type) -> Bool { remove(NameKey(of: type)) }

    /// Frees the name of a state. A state you still hold keeps working, but without its name or pattern
    /// listeners.
    /// - Returns: Whether the name was in use.
    @discardableResult
    public func removeState<State: Sendable>(_ name: StateName<State>) -> Bool {
        remove(name.key)
    }

    /// Frees the name of a request channel. A channel you still hold keeps working, but without its name.
    /// - Returns: Whether the name was in use.
    @discardableResult
    public func removeRequests<Request: Sendable, Response: Sendable>(_ name: RequestName<Request, Response>) -> Bool {
        remove(name.key)
    }

    /// Frees a name given at run time, whatever kind of channel has it. A channel you still hold keeps working, but
    /// without its name.
    /// - Returns: Whether the name was in use; false for an invalid name.
    @discardableResult
    public func removeChannel(named name: String) -> Bool {
        guard let key = try? NameKey(validating: name) else { return false }
        return remove(key)
    }

    /// Ends every listener, interceptor and responder that an object owns on this switchboard, including listeners to
    /// patterns, and removes the object as an observer.
    /// - Complexity: O(*n*) in the number of listeners of the switchboard.
    public func removeListeners(of owner: AnyObject) {
        for (slot, _) in registry.channels { slot.list.removeListeners(of: owner) }
        for listener in patterns.all { listener.hub.removeListeners(of: owner) }
        for channel in protocols.all { channel.remove(object: owner) }
    }

    /// Ends every listener, interceptor, responder and observer on this switchboard, and discards their
    /// queued messages.
    ///
    /// A `once` listener ends when its message is queued, so it still receives that message.
    ///
    /// - Complexity: O(*n*) in the number of listeners of the switchboard.
    public func removeAllListeners() {
        for (slot, _) in registry.channels { slot.list.removeAllListeners() }
        for listener in patterns.all { listener.hub.removeAllListeners() }
        for channel in protocols.all { channel.removeAllListeners() }
    }

    private func remove(_ key: NameKey) -> Bool {
        guard let list = registry.withShard(of: key, { $0.remove(key) }) else { return false }
        patterns.detach(from: list)
        return true
    }

    private func channel<Message: Sendable>(
        key: NameKey,
        of type: Message.Type,
        reentrancy: Reentrancy?
    ) throws -> Channel<Message> {
        let found = try registry.channel(key, kind: .messages(Message.self))
        // The kind records the types that the object is generic over.
        let channel =
            try found.map { known($0, as: Channel<Message>.self) }
            ?? makeChannel(key: key, reentrancy: reentrancy, isKept: false)
        if let reentrancy { compare(reentrancy, with: channel.list) }
        return channel
    }

    /// Makes the channel of a name, unless another thread has done so first.
    /// - Parameter isKept: Whether the channel is only made for a post, because patterns match the name; see
    ///   ``RegistryShard``.
    func makeChannel<Message: Sendable>(
        key: NameKey,
        reentrancy: Reentrancy?,
        isKept: Bool
    ) throws -> Channel<Message> {
        let made = Channel<Message>(
            name: key.name,
            reentrancy: reentrancy ?? self.reentrancy,
            faults: faults
        )
        let entered = try enter(made, made.list, key, .messages(Message.self), isKept: isKept)
        // The kind records the type that the object is generic over.
        return known(entered, as: Channel<Message>.self)
    }

    private func compare(_ reentrancy: Reentrancy, with list: ListenerList) {
        guard reentrancy != list.reentrancy else { return }
        faults.report(
            .reentrancyMismatch,
            .messages,
            list.displayName,
            detail: .text("asked for with \(reentrancy.text), created with \(list.reentrancy.text)")
        )
    }

    private func state<State: Sendable>(key: NameKey, of type: State.Type, initial: () -> State) throws -> StateChannel<
        State
    > {
        let kind = ChannelContent.state(State.self)
        func make() throws -> AnyObject {
            let made = StateChannel(initial(), name: key.text, faults: faults)
            return try enter(made, made.list, key, kind)
        }
        let found = try registry.channel(key, kind: kind) ?? make()
        // The kind records the types that the object is generic over.
        return known(found, as: StateChannel<State>.self)
    }

    private func requests<Request: Sendable, Response: Sendable>(
        key: NameKey,
        of request: Request.Type,
        returning response: Response.Type
    ) throws -> RequestChannel<Request, Response> {
        let kind = ChannelContent.requests(Request.self, Response.self)
        func make() throws -> AnyObject {
            let made = RequestChannel<Request, Response>(name: key.text, faults: faults)
            return try enter(made, made.list, key, kind)
        }
        let found = try registry.channel(key, kind: kind) ?? make()
        // The kind records the types that the object is generic over.
        return known(found, as: RequestChannel<Request, Response>.self)
    }

    /// Attaches the listeners of matching patterns to a new channel and enters the channel, unless another thread was
    /// first. Returns the channel that has the name now. Not generic, so that it is compiled only once.
    private func enter(
        _ made: AnyObject,
        _ list: ListenerList,
        _ key: NameKey,
        _ kind: ChannelContent,
        isKept: Bool = false
    ) throws -> AnyObject {
        instrument?.apply(to: list)
        list.delegate = NamedChannelDelegate(key, reference, keeping: kind.isHeld ? nil : made, list.delegate)
        let slot = RegistrySlot(key, kind, made, list, isKept: isKept)
        let entered = patterns.attaching(to: list, kind) { registry.withShard(of: key) { $0.enter(slot, made) } }
        // Not under the lock of the patterns, because this may release the last reference to a channel.
        registry.withShard(of: key) { shard in
            shard.release(entered.removed)
            if isKept { shard.limitKept(key) }
        }
        list.didUnlock()
        guard entered.kind == kind else { throw Registry.mismatch(key, entered.kind, kind) }
        // An instrument added meanwhile may not have found the channel.
        instrument?.apply(to: list)
        return entered.object
    }

    /// Frees the name of a channel that was deallocated or finished.
    func hasClosed(_ list: ListenerList, _ key: NameKey) {
        registry.withShard(of: key) { $0.removeGone(key, list) }
        patterns.forget(list)
    }

    /// Traps if the body throws. For typed names, where a conflict is a programming error.
    static func unwrap<Value>(_ body: () throws -> Value) -> Value {
        do { return try body() } catch { trap(error) }
    }

    private static func trap(_ error: any Error) -> Never {
        fatalError("\(error): use each name with one kind and type; the methods that take a String throw instead")
    }

    @usableFromInline
    func post(_ message: MessageAddress, _ post: PostOptions, to key: NameKey, ofMessages type: any Any.Type) -> Int? {
        registry.withShard(of: key) { $0.post(message, post, to: key, ofMessages: ObjectIdentifier(type)) }
    }
}
