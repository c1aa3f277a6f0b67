internal import Dispatch
internal import Synchronization

/// A state channel without its type: the stored value, and the turns in which values are delivered.
///
/// Not generic, because the metadata of types nested in a generic class is looked up at every use: `set` took ten times
/// as long.
///
/// Guards: the lock of `guarded` guards the value and the turns; `updater` is atomic. The lock of the list is taken
/// inside it, never the other way round.
@usableFromInline
final class StateCore: @unchecked Sendable {  // guards: see above
    struct Guarded: ~Copyable, @unchecked Sendable {  // reached under the lock only
        let value: KeptMessage
        var turns: StateTurns
        /// Whether the value was ever set. False while it is the initial one.
        var wasSet = false
    }

    let list: ListenerList
    let guarded: Locked<Guarded>
    /// The record of the thread inside the body of `update`, or 0.
    let updater = Atomic<UInt>(0)

    /// - Parameter initial: The address of a value with the list's layout, which is copied.
    init(_ list: ListenerList, initial: MessageAddress) {
        self.list = list
        let value = KeptMessage(copying: initial, list.layout)
        guarded = Locked(Guarded(value: value, turns: StateTurns(list.layout)))
        list.delegate = StateDelegate(self)
    }

    /// Copies the value to uninitialized memory.
    @usableFromInline
    func read(into target: MessageAddress) {
        trapInsideUpdate("value")
        guarded.withLock { list.layout.copy(from: $0.value.address, to: target) }
    }

    var wasSet: Bool { guarded.withLock { $0.wasSet } }

    @usableFromInline
    func envelope(from sender: any AnyObject & Sendable) -> Envelope { Envelope(list.name, sender: sender) }

    /// Stores a value, and delivers it after those that already wait.
    /// - Parameters:
    ///   - message: The address of the value, which is only read.
    ///   - post: Who sets the value. Its envelope travels with the value, but does not reach listeners registered
    ///     later.
    ///   - store: Replaces the value at the address. Called under the lock, unless the change is refused.
    /// - Returns: Whether the value waits to be delivered. Its tracker, if it has one, is notified when that happens.
    @usableFromInline
    func set(_ message: MessageAddress, _ post: PostOptions, store: (MessageAddress) -> Void) -> Bool {
        trapInsideUpdate("set")
        guard let chain = chainOfChange() else { return false }
        guard list.isObserved else { return set(message, post, chain, store) }
        var waits = false
        list.traceState(post) { waits = set(message, $0, chain, store) }
        return waits
    }

    @inline(__always)
    private func set(_ message: MessageAddress, _ post: PostOptions, _ chain: Int, _ store: (MessageAddress) -> Void)
        -> Bool
    {
        let claim = guarded.withLock { guarded -> StateTurns.Claim? in
            store(guarded.value.address)
            guarded.wasSet = true
            return claimTurn(&guarded, post.envelope, for: nil, chain)
        }
        return follow(claim) { deliver(message, $0, post) }
    }

    /// Delivers the value if that is up to this caller; waits for a moment if too many values are pending.
    /// - Returns: Whether it waits to be delivered.
    @inline(__always)
    private func follow(_ claim: StateTurns.Claim?, deliver: (StateTurns.Turn) -> Void) -> Bool {
        switch claim {
        case .deliver(let turn)?: deliver(turn)
        case .waitBehind(let count, let canWait)?:
            slowDown(behind: count, canWait)
            return true
        case .wait?: return true
        case nil: break
        }
        return false
    }

    /// Changes the value in place and delivers it.
    /// - Parameters:
    ///   - isInitial: Whether the value still counts as an initial one afterwards. If so, nothing is changed if the
    ///     state was ever set.
    ///   - change: Changes the value. Called under the lock, unless the change is refused. Returns whether it changed
    ///     the value.
    /// - Returns: Whether the value waits to be delivered. Its tracker, if it has one, is notified when that happens.
    @usableFromInline
    func update(_ post: PostOptions, isInitial: Bool = false, change: (MessageAddress) -> Bool) -> Bool {
        trapInsideUpdate("update")
        guard let chain = chainOfChange() else { return false }
        guard list.isObserved else { return self.change(post, isInitial, chain, change) }
        var waits = false
        list.traceState(post) { waits = self.change($0, isInitial, chain, change) }
        return waits
    }

    @inline(__always)
    private func change(_ post: PostOptions, _ isInitial: Bool, _ chain: Int, _ change: (MessageAddress) -> Bool)
        -> Bool
    {
        let thread = ThreadReference.current
        return takeTurn(post) { guarded in
            guard !(isInitial && guarded.wasSet) else { return nil }
            updater.store(thread.address, ordering: .relaxed)
            let isChanged = change(guarded.value.address)
            updater.store(0, ordering: .relaxed)
            if isChanged { guarded.wasSet = !isInitial }
            return isChanged ? claimTurn(&guarded, post.envelope, for: nil, chain) : nil
        }
    }

    /// Registers an entry and delivers the current value to it, between two changes.
    /// - Parameter startsWithNext: Whether it receives only later values.
    func add(_ entry: ListenerEntry, _ priority: ListenerPriority, _ post: PostOptions, startsWithNext: Bool) {
        // No value can be set while the state's lock is held. The entry's number excludes it from the values that wait,
        // values set later find it registered, and the current value takes its turn between the two. If that turn is
        // refused, the entry's first value is the next one set.
        let chain = chainOfChange()
        var isIn = false
        takeTurn(post) { guarded in
            guard !guarded.turns.isClosing else {
                entry.insert(.closed)
                return nil
            }
            isIn = list.insert(entry, priority: priority.rawValue)
            guard isIn, !startsWithNext, let chain else { return nil }
            return claimTurn(&guarded, nil, for: entry, chain)
        }
        list.didUnlock()
        if !isIn { list.endRejected(entry) }
        list.delegate?.didChangeListening(in: list)
    }

    /// Ends the listeners when the channel is deallocated or finished, after the values that wait. If a thread is
    /// delivering those, it closes the list after the last one.
    func close() {
        if guarded.withLock({ $0.turns.close() }) { list.close() }
    }

    /// Resumes a paused listener, which receives the current value first.
    func resume(_ entry: ListenerEntry) {
        trapInsideUpdate("resume")
        // If the current value's turn is refused, the listener stays paused.
        guard let chain = chainOfChange() else { return }
        takeTurn(PostOptions()) { guarded in
            guard entry.isPaused, !entry.hasEnded, !guarded.turns.isClosing else { return nil }
            // The entry gets a new number, because the current value takes its turn after the values that wait. The
            // delivering thread may have found the listener before it was paused, without having called it yet.
            list.renumber(entry, clearing: .paused)
            return claimTurn(&guarded, nil, for: entry, chain)
        }
        list.didUnlock()
    }
}

/// Refers weakly from a list to its state, which keeps the list.
private final class StateDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initializer only
    private weak var core: StateCore?

    init(_ core: StateCore) { self.core = core }

    func resume(_ entry: ListenerEntry) -> Bool {
        core?.resume(entry)
        return true
    }
}

extension StateCore {
    /// Claims a turn for the stored value, if there are listeners or diagnostics are on. With an entry, the turn is for
    /// that new or resumed listener only. Called under the lock, as is registration.
    @inline(__always)
    private func claimTurn(_ guarded: inout Guarded, _ envelope: Envelope?, for entry: ListenerEntry?, _ chain: Int)
        -> StateTurns.Claim?
    {
        guard !guarded.turns.isClosing, !list.hasNoListenerNow || list.isObserved else { return nil }
        return guarded.turns.claim(
            guarded.value.address,
            envelope,
            before: list.nextNumberNow,
            for: entry,
            chain: chain,
            from: ThreadReference.current.address
        )
    }

    /// Runs a body under the lock, then delivers the stored value if that is up to this caller.
    /// - Returns: Whether it waits to be delivered.
    @discardableResult
    private func takeTurn(_ post: PostOptions, _ body: (inout Guarded) -> StateTurns.Claim?) -> Bool {
        list.layout.withTemporary { message in
            let claim = guarded.withLock { guarded -> StateTurns.Claim? in
                let claim = body(&guarded)
                if case .deliver = claim { list.layout.copy(from: guarded.value.address, to: message) }
                return claim
            }
            return follow(claim) {
                deliver(message, $0, post)
                list.layout.destroy(message)
            }
        }
    }

    /// Delivers a turn, then the waiting ones in order, until none is left or a job takes over.
    private func deliver(_ message: MessageAddress, _ turn: StateTurns.Turn, _ post: PostOptions) {
        list.postTurn(message, before: turn.before, chain: turn.chain, onlyTo: turn.entry, post)
        if guarded.withLock({ !$0.turns.endIfNothingWaits() }) { deliverWaiting(post) }
    }

    /// - Parameter post: Describes the delivering caller. Listeners with its isolation are called directly.
    @inline(never)
    private func deliverWaiting(_ post: PostOptions) {
        let thread = ThreadReference.current
        list.layout.withTemporary { message in
            while true {
                switch guarded.withLock({ $0.turns.next(for: thread.address, into: message) }) {
                case .deliver(let turn, let envelope):
                    list.postTurn(
                        message,
                        before: turn.before,
                        chain: turn.chain,
                        onlyTo: turn.entry,
                        PostOptions(post, envelope)
                    )
                    envelope?.tracker?.finish(.settled)
                    // Each value is released at the end of its turn, without the lock.
                    list.layout.destroy(message)
                case .reschedule:
                    DispatchQueue.global().async { self.resume() }
                    return
                case .end(let closesList):
                    if closesList { list.close() }
                    return
                }
            }
        }
    }

    /// Continues to deliver, in a job.
    private func resume() {
        let thread = ThreadReference.current
        guarded.withLock { $0.turns.takeOver(by: thread.address) }
        deliverWaiting(PostOptions())
    }
}
