/// A channel that knows its last message: hands every listener the current value first, then every later one.
///
/// ```swift
/// let sales = StateChannel(Sales())
/// sales.listen(self) { me, sales in me.show(sales) }
/// sales.update { $0.total += 12 }
/// ```
///
/// ## Behavior
///
/// - A new listener gets the current value once and then every later value exactly once, without a gap or a repeat, whatever races with the
///   registration. Each listener sees the values in the order in which they were set; the last it sees is the one stored.
/// - Values are delivered one after the other, whoever sets them: a value set while another is being delivered, by a listener or by
///   another thread, waits its turn and is delivered by whoever is delivering. So `set` may return before listeners have run.
/// - The exceptions to "exactly once": values set while a listener is paused, after which it gets the current one first, and values
///   dropped from a full buffer, which are counted.
/// - A `set` by a listener of a value set by a listener … 1,024 deep is refused: the value stays, a fault is raised.
/// - The body of ``update(isolation:_:)`` is the one place in this library where user code runs under a lock, the state's own. Using the
///   same channel inside it traps. Values that are replaced by ``set(_:isolation:)`` are released without the lock.
/// - A listener that registers another one from its first call has that one called at once, inside it. Do not let a listener register itself anew in this
///   way without end: the stack is not bounded there.
///
/// All methods may be called from any thread.
public final class StateChannel<State: Sendable>: Sendable {
    @usableFromInline let core: StateCore

    /// Creates a channel with its first value.
    public convenience init(_ initial: State, onFault: FaultHandler? = nil, diagnostics: Diagnostics = .off) {
        self.init(initial, name: nil, faults: .with(onFault), diagnostics: diagnostics)
    }

    init(_ initial: State, name: String?, faults: FaultReporter, diagnostics: Diagnostics) {
        let list = ListenerList(
            layout: MessageLayout(State.self),
            name: name,
            reentrancy: .queued,
            faults: faults,
            counts: diagnostics == .counts
        )
        core = withUnsafePointer(to: initial) {
            // The core only reads it.
            StateCore(list, initial: UnsafeMutableRawPointer(mutating: $0))
        }
    }

    deinit {
        list.close()
    }

    var list: ListenerList { core.list }

    /// The name under which a switchboard hands the channel out; nil where it has none.
    public var name: String? { list.name }

    /// The value stored: the last one set, whether or not it has been delivered yet.
    @inlinable public var value: State {
        withUnsafeTemporaryAllocation(of: State.self, capacity: 1) { memory in
            // Room for one, which the core initialises.
            let value = memory.baseAddress.unsafelyUnwrapped
            core.read(into: UnsafeMutableRawPointer(value))
            return value.move()
        }
    }

    /// Stores a value and delivers it, after those that wait already.
    @inlinable
    public func set(_ value: State, isolation: isolated (any Actor)? = #isolation) {
        store(value, with: nil, isolation: isolation)
    }

    @inlinable
    @inline(__always)
    func store(_ value: State, with envelope: Envelope?, isolation: isolated (any Actor)?) {
        // Holds the value that is replaced until the end of this method, to release it without the lock.
        var other = value
        withUnsafePointer(to: value) { message in
            // The core only reads it, and keeps values of this type only.
            core.set(UnsafeMutableRawPointer(mutating: message), with: envelope, isolation: isolation) { stored in
                swap(&stored.assumingMemoryBound(to: State.self).pointee, &other)
            }
        }
        withExtendedLifetime((self, other)) {}
    }

    /// Changes the value in place and delivers it.
    ///
    /// The body runs under the state's lock, so that no other change comes between its reading and its writing: keep it short, and do not use
    /// this channel in it, which traps. Where it throws, the value stays as it was and nothing is delivered. Where the change is refused
    /// (see the type's behavior), the body runs on a copy that is dropped.
    ///
    /// - Returns: What the body returns.
    @inlinable
    @discardableResult
    public func update<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        var outcome: Swift.Result<Result, Failure>?
        var kept: State?
        core.update(isolation: isolation) { stored in
            // The core keeps values of this type only.
            let stored = stored.assumingMemoryBound(to: State.self)
            // Only where the body can throw is the old value kept, because that makes its first write copy.
            if Failure.self != Never.self { kept = stored.pointee }
            do throws(Failure) {
                outcome = .success(try body(&stored.pointee))
                return true
            } catch {
                if let kept { stored.pointee = kept }
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

    /// The current value, then every later one, as an asynchronous sequence.
    ///
    /// The default keeps only the newest value for a reader who is slow, so that the last one read is the one stored. See
    /// ``MessageSequence`` for its life.
    ///
    /// - Precondition: `buffering` is not `.oldest`, which would end with a value other than the one stored.
    public func values(
        buffering: BufferingPolicy = .newest(1),
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<State> {
        core.trapInsideUpdate("values")
        checkBuffering(buffering)
        let buffer = SequenceBuffer(list, buffering, PackedSite(fileID, line))
        core.admit(buffer.entry, priority, isolation: nil)
        return MessageSequence(buffer: buffer)
    }

    /// How many listeners there are, paused ones and sequences included.
    ///
    /// - Complexity: O(*n*): listeners whose owner has gone are taken out first.
    public var listenerCount: Int { list.activeListenerCount }

    /// Whether nobody listens.
    public var isEmpty: Bool { listenerCount == 0 }

    /// Ends every listener of an owner.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func removeListeners(of owner: AnyObject) {
        list.removeListeners(of: owner)
    }
}

// MARK: - Registration

extension StateChannel {
    @usableFromInline
    func register(
        _ plan: ListenerPlan,
        _ priority: Priority,
        _ buffering: BufferingPolicy,
        _ site: PackedSite,
        _ isolation: isolated (any Actor)?
    ) -> ListenerToken {
        core.trapInsideUpdate("listen")
        checkBuffering(buffering)
        let entry = list.entry(for: plan, buffering, site, alwaysWithMailbox: true)
        core.admit(entry, priority, isolation: isolation)
        return ListenerToken(entry)
    }

    private func checkBuffering(_ buffering: BufferingPolicy) {
        precondition(
            buffering.kind != .oldest,
            "StateChannel<\(State.self)>: buffering \(buffering) would end with another value than the one stored; use .newest or .unbounded"
        )
    }
}

extension StateChannel: CustomStringConvertible {
    /// The name or type, and how many listen.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")StateChannel<\(State.self)>, \(list.listenerCountNow) listeners"
    }
}
