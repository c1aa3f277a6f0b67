/// Holds a current value and delivers it. Each listener receives the current value first, then every later one.
///
/// ```swift
/// let sales = StateChannel(Sales())
/// sales.listen(self) { me, sales in me.show(sales) }
/// sales.update { $0.total += 12 }
/// ```
///
/// ## Behavior
/// - A new listener receives the current value once, then every later value exactly once, in the order set, even if
///   values are set during the registration. The last value that it receives is the one stored.
/// - "Exactly once" has two exceptions. A paused listener misses values; when it is resumed, it receives the current
///   value first. And a full buffer drops values, which are counted.
/// - Only one thread delivers at a time. Values set on other threads meanwhile are queued, and delivered by that
///   thread. So `set` may return before the listeners have run, and `listen` before the new listener has received the
///   current value.
/// - After a thread has delivered 64 values set by other threads, a background job delivers the rest.
/// - While more than 1,024 values are pending, `set` and `update` wait for up to 100 ms. If too many are still pending
///   then, ``Fault/Code/stateBacklog`` is raised. Inside a listener they never wait, so there is no limit on pending
///   values, and the fault is raised when their number reaches 2,048, 4,096, 8,192 and so on.
/// - A change made by a listener is refused if 1,024 changes, of this state and others, have led to it, or if little of
///   the stack is left. The value stays as it was, and a fault is raised. A listener registered where a change would be
///   refused starts with the next value; one resumed there stays paused.
/// - The body of ``update(from:fileID:line:isolation:_:)`` is the only user code that runs under a lock of this
///   library: the state's own. Reading, setting, listening to or finishing the state in the body traps. Values replaced
///   by ``set(_:from:fileID:line:isolation:)`` are released after unlocking.
///
/// All methods may be called from any thread.
public final class StateChannel<State: Sendable>: Listenable, ListenerContainer {
    @usableFromInline let core: StateCore

    /// Creates a state with its first value.
    public convenience init(_ initial: State, onFault: FaultHandler? = nil) {
        self.init(initial, name: nil, faults: .with(onFault))
    }

    /// Creates a state whose source runs only while somebody listens.
    /// - Parameter onDemand: Takes the state, starts its source, and returns a closure that stops it.
    ///   ``Channel/init(onDemand:reentrancy:onFault:)`` says when they are called, and on which threads.
    @_disfavoredOverload  // the trailing closure of `StateChannel(0) { … }` is a fault handler
    public convenience init(
        _ initial: State,
        onDemand: @escaping @Sendable (StateChannel<State>) -> @Sendable () -> Void,
        onFault: FaultHandler? = nil
    ) {
        self.init(initial, onFault: onFault)
        Demand.follow(list) { [weak self] in self.map(onDemand) }
    }

    init(_ initial: State, name: String?, faults: FaultReporter) {
        let list = ListenerList(
            layout: MessageLayout(State.self),
            of: Self.self,
            kind: .state,
            name: name,
            reentrancy: .queued,
            faults: faults
        )
        core = MessageAddress.lending(initial) { StateCore(list, initial: $0) }
    }

    deinit { core.close() }

    var list: ListenerList { core.list }

    /// The last value set, whether or not it has been delivered yet. It is copied under the state's lock. Reading it
    /// inside `update` of the same state traps.
    /// - Complexity: O(1).
    @inlinable public var value: State {
        MessageAddress.filling(as: State.self) { core.read(into: $0) }
    }

    /// Stores a value, and delivers it after those already pending.
    ///
    /// When this returns, listeners that are nonisolated, or have the caller's isolation, have received the value,
    /// unless another value is being delivered or messages are queued for them. In those cases the value waits for its
    /// turn. If too many values are pending, this method waits for up to 100 ms, but not inside a listener. If the
    /// value is refused (see ``StateChannel``), the old one stays and a fault is raised. Traps inside `update` of the
    /// same state.
    ///
    /// - Parameter sender: The object that sets the value, available as ``Posted/sender``.
    /// - Complexity: O(*n*) in the number of listeners that this call delivers to.
    @inlinable
    public func set(
        _ value: State,
        from sender: (any AnyObject & Sendable)? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) {
        // The sender has to travel with the value, which may wait for its turn.
        let envelope = sender.map { core.envelope(from: $0) }
        store(value, PostOptions(isolation: isolation, at: PackedSite(fileID, line), envelope))
    }

    /// - Returns: Whether the value waits to be delivered.
    @inlinable @discardableResult
    func store(_ value: State, _ post: PostOptions) -> Bool {
        // Keeps the replaced value until the end of this method, so that it is released after unlocking.
        var other = value
        let waits = MessageAddress.lending(value) { message in
            core.set(message, post) { stored in stored.swap(with: &other) }
        }
        withExtendedLifetime((self, other)) {}
        return waits
    }

    /// Changes the value in place and delivers it.
    ///
    /// The body runs under the state's lock, so the change is atomic. Keep it short. Reading, setting, listening to or
    /// finishing the same state in it traps. If it throws, the value is unchanged and nothing is delivered. If the
    /// change is refused (see ``StateChannel``), the body runs on a copy that is discarded.
    ///
    /// - Parameter sender: The object that changes the value, available as ``Posted/sender``.
    /// - Returns: The result of the body.
    @inlinable @discardableResult
    public func update<Result, Failure: Error>(
        from sender: (any AnyObject & Sendable)? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var waits = false
        let envelope = sender.map { core.envelope(from: $0) }
        return try update(PostOptions(isolation: isolation, at: PackedSite(fileID, line), envelope), &waits, body)
    }

    @inlinable
    func update<Result, Failure: Error>(
        _ post: PostOptions,
        _ waits: inout Bool,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        var outcome: Swift.Result<Result, Failure>?
        var kept: State?
        waits = core.update(post) { stored in
            // Kept only if the body can throw, because keeping the old value makes the body's first write copy it.
            if Failure.self != Never.self { kept = stored.load(as: State.self) }
            do throws(Failure) {
                outcome = .success(try stored.mutate(as: State.self, body))
                return true
            } catch {
                if let kept { stored.store(kept) }
                outcome = .failure(error)
                return false
            }
        }
        guard let outcome else {
            // The change was refused, so the body runs on a copy.
            var copy = value
            return try body(&copy)
        }
        withExtendedLifetime(kept) {}
        return try outcome.get()
    }

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .state(State.self)) }

    /// Ends every listener for good: queued values are delivered, sequences end, and listeners registered
    /// later are inactive. The state can still be set and read.
    /// - Precondition: It is not called in the body of ``update(from:fileID:line:isolation:_:)``.
    public func finish() {
        core.trapInsideUpdate("finish")
        core.close()
    }
}

extension StateChannel {
    /// Registers a listener built by one of the `listen` methods.
    /// - Precondition: Its buffering is not `.oldest`, which would drop the stored value.
    public func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        register(listener, isolation: isolation, startsWithNext: false)
    }

    /// - Parameter startsWithNext: Whether the listener receives only later values.
    func register(
        _ listener: consuming Listener<State>,
        isolation: (any Actor)?,
        startsWithNext: Bool
    ) -> ListenerToken {
        core.trapInsideUpdate("listen")
        // By default, a listener gets every value, and a reader only the newest.
        let asked = listener.registration.buffering
        let buffering = asked.isAutomatic && listener.registration.isSequence ? .newest(1) : asked
        if case .async(_, _, .ignore) = listener.registration.delivery {
            fatalError(
                "StateChannel<\(State.self)>: overlapping .ignore could leave the listener with a value other than the one "
                    + "stored; write .replace"
            )
        }
        require(
            buffering.kind != .oldest,
            "StateChannel<\(State.self)>: buffering \(buffering.text) could leave the listener with a value other than the "
                + "one stored; write .newest or .unbounded"
        )
        listener.registration.buffering = buffering
        let entry = list.makeEntry(listener.registration, isCounted: true)
        let priority = listener.registration.priority
        core.add(entry, priority, PostOptions(isolation: isolation), startsWithNext: startsWithNext)
        return entry.makeToken()
    }
}

extension StateChannel: CustomStringConvertible {
    /// The name, type and number of listeners.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")StateChannel<\(State.self)>, \(list.listenerCountNow) listeners"
    }
}
