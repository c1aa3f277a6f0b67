internal import Synchronization

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
///
/// All methods may be called from any thread.
public final class StateChannel<State: Sendable>: Sendable {
    /// What the mutex guards.
    private struct Guarded {
        var value: State
        var waiting = Queue<Turn>()
        /// The record of the thread that delivers, or 0.
        var deliverer: UInt = 0
        /// How long the chain is that led to the value being delivered.
        var depth = 0
    }

    /// A value that was set and is not yet delivered.
    private struct Turn {
        let value: State
        /// The number of the first listener that is too new for it.
        let before: UInt64
        /// How long the chain is that led to it.
        let depth: Int
        /// The one listener for which it is, having been paused.
        let entry: ListenerEntry?
    }

    private static var deepest: Int { 1_024 }

    let list: ListenerList
    private let state: Locked<Guarded>
    /// The record of the thread inside the body of `update`, or 0.
    private let updater = Atomic<UInt>(0)

    /// Creates a channel with its first value.
    public convenience init(_ initial: State, onFault: FaultHandler? = nil, diagnostics: Diagnostics = .off) {
        self.init(initial, name: nil, faults: .with(onFault), diagnostics: diagnostics)
    }

    init(_ initial: State, name: String?, faults: FaultReporter, diagnostics: Diagnostics) {
        list = ListenerList(
            layout: MessageLayout(State.self),
            name: name,
            reentrancy: .queued,
            faults: faults,
            counts: diagnostics == .counts
        )
        state = Locked(Guarded(value: initial))
        list.onResume = { [weak self] entry in self?.resume(entry) }
    }

    deinit {
        list.close()
    }

    /// The name under which a switchboard hands the channel out; nil where it has none.
    public var name: String? { list.name }

    /// The value stored: the last one set, whether or not it has been delivered yet.
    public var value: State {
        trapInsideUpdate("value")
        return state.withLock { $0.value }
    }

    /// Stores a value and delivers it, after those that wait already.
    public func set(_ value: State, isolation: isolated (any Actor)? = #isolation) {
        trapInsideUpdate("set")
        guard !refusesChange() else { return }
        // Released at the end of this method, without the lock.
        var replaced: State?
        let turn = state.withLock { guarded in
            replaced = guarded.value
            guarded.value = value
            return enqueue(&guarded)
        }
        if let turn { deliver(turn, isolation) }
        withExtendedLifetime(replaced) {}
    }

    /// Changes the value in place and delivers it.
    ///
    /// The body runs under the state's lock, so that no other change comes between its reading and its writing: keep it short, and do not use
    /// this channel in it, which traps. Where it throws, the value stays as it was and nothing is delivered. Where the change is refused
    /// (see the type's behavior), the body runs on a copy that is dropped.
    ///
    /// - Returns: What the body returns.
    @discardableResult
    public func update<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        trapInsideUpdate("update")
        if refusesChange() {
            var copy = value
            return try body(&copy)
        }
        var outcome: Swift.Result<Result, Failure>?
        var kept: State?
        let turn = state.withLock { guarded -> Turn? in
            updater.store(ThreadRecord.currentAddress, ordering: .relaxed)
            // Only where the body can throw is the old value kept, because that makes its first write copy.
            if Failure.self != Never.self { kept = guarded.value }
            do throws(Failure) {
                outcome = .success(try body(&guarded.value))
                updater.store(0, ordering: .relaxed)
                return enqueue(&guarded)
            } catch {
                if let kept { guarded.value = kept }
                outcome = .failure(error)
                updater.store(0, ordering: .relaxed)
                return nil
            }
        }
        if let turn { deliver(turn, isolation) }
        withExtendedLifetime(kept) {}
        return try outcome!.get()
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
        trapInsideUpdate("values")
        checkBuffering(buffering)
        let buffer = SequenceBuffer(list, buffering, PackedSite(fileID, line))
        admit(buffer.entry, priority, isolation: nil)
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
        trapInsideUpdate("listen")
        checkBuffering(buffering)
        let entry = list.entry(for: plan, buffering, site, alwaysWithMailbox: true)
        admit(entry, priority, isolation: isolation)
        return ListenerToken(entry)
    }

    /// Registers an entry and hands it the current value, between two changes.
    private func admit(_ entry: ListenerEntry, _ priority: Priority, isolation: (any Actor)?) {
        // Under the state's lock no value is set, so those that wait to be delivered were set before this listener came, and its number
        // keeps them from it; those set later find it registered. The list's lock is taken inside, never the other way round.
        var displaced: KeptMessage?
        var turn: Turn?
        let (outcome, delivers) = state.withLock { guarded in
            let outcome = list.insert(entry, priority: priority.rawValue)
            guard outcome.isIn else { return (outcome, false) }
            if guarded.deliverer == 0 {
                // A turn as any other: what the listener sets counts as following from it.
                turn = enqueue(&guarded, onlyFor: entry)
                return (outcome, false)
            }
            return (outcome, deposit(&guarded.value, for: entry, displaced: &displaced))
        }
        if let turn { deliver(turn, isolation) }
        if delivers { entry.mailbox?.deliverDeposit(entry, from: isolation) }
        if outcome.sweeps { list.sweepSome() }
        list.lockWasGivenUp()
    }

    /// Lets values through to a paused listener again, the current one first.
    private func resume(_ entry: ListenerEntry) {
        trapInsideUpdate("resume")
        // Delivers a value as `set` does. Where that is one post too many, the listener stays paused.
        guard !refusesChange() else { return }
        let turn = state.withLock { guarded -> Turn? in
            guard entry.isPaused, entry.isActive else { return nil }
            // A new number: values that wait to be delivered are older than the one it gets now. That one takes its turn behind them, because
            // a thread that delivers one of them may have found the listener before it was paused and not have called it yet.
            list.renumber(entry, clearing: ListenerEntry.paused)
            return enqueue(&guarded, onlyFor: entry)
        }
        if let turn { deliver(turn, nil) }
        list.lockWasGivenUp()
    }

    private func deposit(_ value: inout State, for entry: ListenerEntry, displaced: inout KeptMessage?) -> Bool {
        withUnsafeMutablePointer(to: &value) { value in
            entry.mailbox?.deposit(UnsafeMutableRawPointer(value), displaced: &displaced) ?? false
        }
    }

    private func checkBuffering(_ buffering: BufferingPolicy) {
        precondition(
            buffering.kind != .oldest,
            "StateChannel<\(State.self)>: buffering \(buffering) would end with another value than the one stored; use .newest or .unbounded"
        )
    }
}

// MARK: - Delivery

extension StateChannel {
    /// Queues the value just stored, or stored still for a listener that resumes or is new. Under the state's lock.
    ///
    /// - Returns: Where nobody delivers, the turn, which the caller then has to deliver. It need not go through the queue, which is empty.
    private func enqueue(_ guarded: inout Guarded, onlyFor entry: ListenerEntry? = nil) -> Turn? {
        let thread = ThreadRecord.currentAddress
        guard guarded.deliverer != 0 else {
            guarded.deliverer = thread
            guarded.depth = 1
            return Turn(value: guarded.value, before: list.nextNumberNow, depth: 1, entry: entry)
        }
        let depth = guarded.deliverer == thread ? guarded.depth + 1 : 1
        if let entry, guarded.waiting.last?.entry === entry {
            // It was resumed a moment ago and has been paused and resumed since, without a change in between: one turn is enough.
            let turn = guarded.waiting.last
            guarded.waiting.last = turn.map { Turn(value: $0.value, before: list.nextNumberNow, depth: $0.depth, entry: entry) }
            return nil
        }
        guarded.waiting.append(Turn(value: guarded.value, before: list.nextNumberNow, depth: depth, entry: entry))
        return nil
    }

    /// Delivers a turn, and then what waits, in order, until nothing does.
    private func deliver(_ first: Turn, _ isolation: (any Actor)?) {
        // Each value is released at the end of its turn, without the lock.
        var turn = first
        while true {
            withUnsafePointer(to: turn.value) {
                // Only read: there are no interceptors here.
                list.post(UnsafeMutableRawPointer(mutating: $0), isolation: isolation, before: turn.before, onlyTo: turn.entry)
            }
            let next = state.withLock { guarded -> Turn? in
                guard let next = guarded.waiting.popFirst() else {
                    guarded.deliverer = 0
                    guarded.depth = 0
                    return nil
                }
                guarded.depth = next.depth
                return next
            }
            guard let next else { return }
            turn = next
        }
    }

    /// Whether a change is one too many: made by a listener, at the end of too long a chain.
    private func refusesChange() -> Bool {
        let thread = ThreadRecord.current
        guard let top = thread.pointee.top else { return false }
        var limit = ThreadRecord.deepest
        var isTooDeep = thread.pointee.depth >= limit
        if !isTooDeep {
            limit = Self.deepest
            isTooDeep = state.withLock { $0.deliverer == UInt(bitPattern: thread) && $0.depth >= limit }
        }
        if isTooDeep { list.reportRecursion(top, limit: limit) }
        return isTooDeep
    }

    private func trapInsideUpdate(_ use: String) {
        guard updater.load(ordering: .relaxed) != 0 else { return }
        // Only the thread that is inside can read its own address here.
        precondition(
            updater.load(ordering: .relaxed) != ThreadRecord.currentAddress,
            "StateChannel<\(State.self)>.\(use) was used inside the body of `update` of the same channel, which holds its lock"
        )
    }
}

extension StateChannel: CustomStringConvertible {
    /// The name or type, and how many listen.
    public var description: String {
        "\(list.name.map { "\($0): " } ?? "")StateChannel<\(State.self)>, \(list.listenerCountNow) listeners"
    }
}
