/// A channel with a current value: each listener gets it first, then every later one.
///
/// ```swift
/// let sales = StateChannel(Sales())
/// sales.listen(self) { me, sales in me.show(sales) }
/// sales.update { $0.total += 12 }
/// ```
///
/// ## Behavior
///
/// - A new listener gets the current value once and then every later value exactly once, without a gap or a
///   repeat, whatever races with the registration. Each listener sees the values in the order in which they
///   were set; the last it sees is the one stored.
/// - Values are delivered one at a time, whichever threads set them. A value set, or a listener registered, while another
///   value is being delivered waits its turn and is delivered by the thread that is delivering. So `set` may return
///   before listeners have run, and `listen` before the new listener has.
/// - No thread delivers for others without end: after 64 values of others, a job goes on. While more than 1,024 values wait,
///   a thread that is not inside a listener waits in `set` or `update`, in steps of a millisecond and for at most 100 ms;
///   if too many still wait, ``Fault/Code/stateBacklog`` is raised. What listeners set while another thread delivers has no
///   bound; the fault is raised at 2,048 values that wait, 4,096, 8,192 and so on.
/// - The exceptions to "exactly once": values set while a listener is paused, after which it gets the current
///   one first, and values dropped from a full buffer, which are counted.
/// - A listener that sets the state again is refused at a depth of 1,024, where little of the stack is left, and
///   where too many values follow from one: the value stays as it was, and a fault is raised. A listener that such
///   a chain registers begins with the next value; one that it resumes stays paused.
/// - The body of ``update(fileID:line:isolation:_:)`` is the one place in this library where user code runs under a lock,
///   the state's own. Using the same channel inside it traps. Values that are replaced by
///   ``set(_:fileID:line:isolation:)`` are released without the lock.
///
/// All methods may be called from any thread.
public final class StateChannel<State: Sendable>: Listenable {
    /// What listeners hear: the state.
    public typealias Message = State

    @usableFromInline let core: StateCore

    /// Creates a state with its first value.
    public convenience init(_ initial: State, onFault: FaultHandler? = nil, diagnostics: Diagnostics = .off) {
        self.init(initial, name: nil, faults: .with(onFault), diagnostics: diagnostics)
    }

    init(_ initial: State, name: String?, faults: FaultReporter, diagnostics: Diagnostics) {
        let list = ListenerList(
            layout: MessageLayout(State.self),
            of: Self.self,
            kind: .state,
            name: name,
            reentrancy: .queued,
            faults: faults,
            diagnostics: diagnostics
        )
        core = MessageAddress.lending(initial) { StateCore(list, initial: $0) }
    }

    deinit { core.close() }

    var list: ListenerList { core.list }

    /// The name of the state on its switchboard; nil if it has none.
    public var name: String? { list.name }

    /// The value stored: the last one set, whether or not it has been delivered yet.
    ///
    /// Copied under the state's lock. Traps inside the body of `update` of the same state.
    ///
    /// - Complexity: O(1).
    @inlinable public var value: State {
        MessageAddress.filling(as: State.self) { core.read(into: $0) }
    }

    /// Stores a value and delivers it, after those that already wait.
    ///
    /// Listeners without isolation, or with the caller's, have heard it when this returns, unless something waits
    /// before it: another value that is being delivered, by this thread or another, or messages of their lane. Then
    /// it has its turn later. Where too many values wait, this takes up to 100 ms, but not inside a listener. If
    /// the value is refused (see the type's behavior), the old one stays and a fault is raised. Traps inside the
    /// body of `update` of the same state.
    ///
    /// - Parameters:
    ///   - value: The value to store.
    ///   - fileID: With `line`, the place of the call, for traces. Omit both.
    ///   - isolation: The caller's isolation. Omit it.
    /// - Complexity: O(*n*) in the number of listeners that this call delivers to.
    @inlinable
    public func set(
        _ value: State,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation
    ) {
        store(value, Post(isolation: isolation, at: PackedSite(fileID, line)))
    }

    @inlinable @inline(__always)
    func store(_ value: State, _ post: Post) {
        // Holds the value that is replaced until the end of this method, to release it without the lock.
        var other = value
        MessageAddress.lending(value) { message in
            core.set(message, post) { stored in stored.swap(with: &other) }
        }
        withExtendedLifetime((self, other)) {}
    }

    /// Changes the value in place and delivers it.
    ///
    /// The body runs under the state's lock, so its read and its write are atomic: keep it short, and do not
    /// use this channel in it, which traps. If it throws, the value is unchanged and nothing is delivered. If
    /// the change is refused (see the type's behavior), the body runs on a copy that is discarded.
    ///
    /// - Parameters:
    ///   - fileID: With `line`, the place of the call, for traces. Omit both.
    ///   - isolation: The caller's isolation. Omit it.
    ///   - body: Changes the value.
    /// - Returns: What the body returns.
    @inlinable @discardableResult
    public func update<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        var outcome: Swift.Result<Result, Failure>?
        var kept: State?
        core.update(Post(isolation: isolation, at: PackedSite(fileID, line))) { stored in
            // The old value is kept only if the body can throw, because that makes its first write copy.
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
            // Refused.
            var copy = value
            return try body(&copy)
        }
        withExtendedLifetime(kept) {}
        return try outcome.get()
    }

    /// The current value, then every later one, as an asynchronous sequence: the same as
    /// ``Listenable/messages(buffering:priority:fileID:line:)``.
    ///
    /// By default only the newest value waits for a slow reader, so that the last one read is the one stored.
    ///
    /// - Precondition: `buffering` is not `.oldest`, which would end with a value other than the one stored.
    public func values(
        buffering: BufferingPolicy? = nil,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<State> {
        messages(buffering: buffering, priority: priority, fileID: fileID, line: line)
    }

    /// The number of listeners, including paused ones and sequences.
    ///
    /// - Complexity: O(*n*): listeners whose owner has gone are removed first.
    public var listenerCount: Int { list.activeListenerCount }

    /// Whether there are no listeners.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Ends every listener of an owner. See ``Channel/removeListeners(of:)``.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) { list.removeListeners(of: owner) }
}

extension StateChannel {
    /// Registers a listener that a form of ``Listenable`` has built.
    ///
    /// - Precondition: The listener's buffering is not `.oldest`, which would end with a value other than the
    ///   one stored.
    public func register(_ listener: consuming Listener<State>, isolation: isolated (any Actor)?) -> ListenerToken {
        register(listener, isolation: isolation, startsWithNext: false)
    }

    /// - Parameter startsWithNext: The listener hears the values that are set from now on.
    func register(
        _ listener: consuming Listener<State>,
        isolation: (any Actor)?,
        startsWithNext: Bool
    ) -> ListenerToken {
        core.trapInsideUpdate("listen")
        require(!listener.registration.isInterceptor, "StateChannel<\(State.self)> cannot be intercepted")
        // Every value for a listener; the newest for a reader.
        let buffering = listener.registration.buffering ?? (listener.registration.isSequence ? .newest(1) : .unbounded)
        require(
            buffering.kind != .oldest,
            "StateChannel<\(State.self)>: buffering \(buffering) would end with another value than the one stored; "
                + "use .newest or .unbounded"
        )
        listener.registration.buffering = buffering
        let entry = list.makeEntry(listener.registration, isCounted: true)
        let priority = listener.registration.priority
        core.admit(entry, priority, Post(isolation: isolation), startsWithNext: startsWithNext)
        return entry.makeToken()
    }
}

extension StateChannel: CustomStringConvertible {
    /// The name or type, and how many listen.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")StateChannel<\(State.self)>, \(list.listenerCountNow) listeners"
    }
}
