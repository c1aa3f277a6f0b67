internal import Synchronization

/// What a state channel is made of, for code that does not know the type: the value stored, and the turns in
/// which values are delivered.
///
/// Not generic, because the metadata of generic types nested in a generic class is looked up at every use:
/// `set` took ten times as long.
///
/// Guards: `guarded` guards the value, the turns and who delivers. `updater` is atomic.
@usableFromInline
final class StateCore: @unchecked Sendable {  // guards: see above
    private struct Guarded: ~Copyable, @unchecked Sendable {  // reached under the lock only
        /// The value stored.
        let value: KeptMessage
        /// The turns that wait, and their values, one for one.
        var turns = Queue<Turn>()
        var values: MessageQueue
        /// The record of the thread that delivers, or 0.
        var deliverer: UInt = 0
        /// How long the chain is that led to the value being delivered.
        var depth = 0
    }

    /// For whom a value is that was set and is not yet delivered.
    private struct Turn {
        /// The number of the first listener that is too new for it.
        var before: UInt64
        /// How long the chain is that led to it.
        let depth: Int
        /// The one listener for which it is, having been paused.
        let entry: ListenerEntry?
    }

    private static let deepest = 1_024

    let list: ListenerList
    private let guarded: Locked<Guarded>
    /// The record of the thread inside the body of `update`, or 0.
    private let updater = Atomic<UInt>(0)

    /// - Parameter initial: The address of a value of the list's layout, which is copied.
    init(_ list: ListenerList, initial: MessageAddress) {
        self.list = list
        let value = KeptMessage(copying: initial, list.layout)
        guarded = Locked(Guarded(value: value, values: MessageQueue(list.layout)))
        list.delegate = StateDelegate(self)
    }

    /// Copies the value stored to uninitialised memory.
    @usableFromInline
    func read(into target: MessageAddress) {
        trapInsideUpdate("value")
        guarded.withLock { list.layout.copy(from: $0.value.address, to: target) }
    }

    /// Stores a value and delivers it, after those that wait already.
    ///
    /// - Parameters:
    ///   - message: The address of the value. It is only read.
    ///   - envelope: What travels with the value. Whoever registers later gets the value without it.
    ///   - store: Puts the value in the place of the one at the address. Called under the lock, once or,
    ///     where the change is refused, not at all.
    @usableFromInline
    func set(
        _ message: MessageAddress,
        with envelope: Envelope?,
        isolation: (any Actor)?,
        store: (MessageAddress) -> Void
    ) {
        trapInsideUpdate("set")
        guard !refusesChange() else { return }
        let turn = guarded.withLock { guarded in
            store(guarded.value.address)
            return turnForChange(&guarded, envelope)
        }
        if let turn { deliver(message, turn, isolation, envelope) }
    }

    /// Changes the value in place and delivers it.
    ///
    /// - Parameter change: Gets the address of the value, under the lock, and says whether it changed it. Not
    ///   called where the change is refused.
    @usableFromInline
    func update(isolation: (any Actor)?, change: (MessageAddress) -> Bool) {
        trapInsideUpdate("update")
        guard !refusesChange() else { return }
        list.layout.withTemporary { message in
            let turn = guarded.withLock { guarded -> Turn? in
                updater.store(ThreadReference.current.address, ordering: .relaxed)
                let isChanged = change(guarded.value.address)
                updater.store(0, ordering: .relaxed)
                guard isChanged, let turn = turnForChange(&guarded) else { return nil }
                list.layout.copy(from: guarded.value.address, to: message)
                return turn
            }
            guard let turn else { return }
            deliver(message, turn, isolation)
            list.layout.destroy(message)
        }
    }

    /// Registers an entry and hands it the current value, between two changes.
    func admit(_ entry: ListenerEntry, _ priority: Priority, isolation: (any Actor)?) {
        // Under the state's lock no value is set, so those that wait to be delivered were set before this
        // listener came, and its number keeps them from it; those set later find it registered. The value it
        // gets now takes its turn behind the former and before the latter. The list's lock is taken inside,
        // never the other way round.
        var outcome = (isIn: false, sweeps: false)
        takeTurn(isolation) { guarded in
            outcome = list.insert(entry, priority: priority.rawValue)
            return outcome.isIn ? turnOf(entry, &guarded) : nil
        }
        if outcome.sweeps { list.sweepSome() }
        list.didUnlock()
    }

    /// Lets values through to a paused listener again, the current one first.
    func resume(_ entry: ListenerEntry) {
        trapInsideUpdate("resume")
        // Delivers a value as `set` does. Where that is one post too many, the listener stays paused.
        guard !refusesChange() else { return }
        takeTurn(nil) { guarded in
            guard entry.isPaused, entry.isActive else { return nil }
            // A new number: values that wait to be delivered are older than the one it gets now. That one
            // takes its turn behind them, because a thread that delivers one of them may have found the
            // listener before it was paused and not have called it yet.
            list.renumber(entry, clearing: ListenerEntry.paused)
            return turnOf(entry, &guarded)
        }
        list.didUnlock()
    }
}

/// How a list finds the state it belongs to, which keeps the list: weakly.
private final class StateDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initialiser only
    private weak var core: StateCore?

    init(_ core: StateCore) { self.core = core }

    func resume(_ entry: ListenerEntry) -> Bool {
        core?.resume(entry)
        return true
    }
}

// MARK: - Turns

extension StateCore {
    /// The turn of the value just stored. Under the lock.
    ///
    /// - Returns: Where nobody delivers, the turn, which the caller then has to deliver. It need not go
    ///   through the queue, which is empty.
    private func turnForChange(_ guarded: inout Guarded, _ envelope: Envelope? = nil) -> Turn? {
        // Who registers does so under the state's lock and is handed the value then.
        if list.hasNoListenerNow, list.counter == nil { return nil }
        return enqueue(&guarded, onlyFor: nil, envelope)
    }

    /// The turn of the value stored for a listener that is new or resumes. Under the lock.
    private func turnOf(_ entry: ListenerEntry, _ guarded: inout Guarded) -> Turn? {
        // It may have been resumed a moment ago, and been paused and resumed since, without a change in
        // between: one turn is enough.
        let isWaiting = guarded.turns.withLast { last in
            guard last.entry === entry else { return false }
            last.before = list.nextNumberNow
            return true
        }
        if isWaiting == true { return nil }
        return enqueue(&guarded, onlyFor: entry)
    }

    private func enqueue(_ guarded: inout Guarded, onlyFor entry: ListenerEntry?, _ envelope: Envelope? = nil) -> Turn?
    {
        let thread = ThreadReference.current.address
        if guarded.deliverer == 0 {
            guarded.deliverer = thread
            guarded.depth = 1
            return Turn(before: list.nextNumberNow, depth: 1, entry: entry)
        }
        let depth = guarded.deliverer == thread ? guarded.depth + 1 : 1
        guarded.turns.append(Turn(before: list.nextNumberNow, depth: depth, entry: entry))
        guarded.values.append(copying: guarded.value.address, envelope)
        return nil
    }

    /// Does something under the lock and delivers the value stored, where that is a turn.
    private func takeTurn(_ isolation: (any Actor)?, _ body: (inout Guarded) -> Turn?) {
        list.layout.withTemporary { message in
            let turn = guarded.withLock { guarded -> Turn? in
                guard let turn = body(&guarded) else { return nil }
                list.layout.copy(from: guarded.value.address, to: message)
                return turn
            }
            guard let turn else { return }
            deliver(message, turn, isolation)
            list.layout.destroy(message)
        }
    }

    /// Delivers a turn, and then what waits, in order, until nothing does.
    private func deliver(
        _ message: MessageAddress,
        _ turn: Turn,
        _ isolation: (any Actor)?,
        _ envelope: Envelope? = nil
    ) {
        list.post(message, isolation: isolation, before: turn.before, onlyTo: turn.entry, envelope: envelope)
        if hasNextTurn() { deliverWaiting(isolation) }
    }

    /// Whether a turn waits. If not, nobody delivers from here on.
    private func hasNextTurn() -> Bool {
        guarded.withLock { guarded in
            guard guarded.turns.isEmpty else { return true }
            guarded.deliverer = 0
            guarded.depth = 0
            return false
        }
    }

    @inline(never)
    private func deliverWaiting(_ isolation: (any Actor)?) {
        list.layout.withTemporary { message in
            repeat {
                let (turn, envelope) = guarded.withLock { guarded in
                    // One value for each turn, and only the thread that delivers takes them out: it has found
                    // one.
                    guard let turn = guarded.turns.popFirst() else { preconditionFailure("no turn waits") }
                    let envelope = guarded.values.moveFirst(to: message)
                    guarded.depth = turn.depth
                    return (turn, envelope)
                }
                list.post(message, isolation: isolation, before: turn.before, onlyTo: turn.entry, envelope: envelope)
                // Each value is released at the end of its turn, without the lock.
                list.layout.destroy(message)
            } while hasNextTurn()
        }
    }
}

// MARK: - Refusals

extension StateCore {
    /// Whether a change is one too many: made by a listener, at the end of too long a chain.
    private func refusesChange() -> Bool {
        let thread = ThreadReference.current
        guard let top = thread.pointee.top else { return false }
        var limit = ThreadRecord.deepest
        var isTooDeep = thread.pointee.depth >= limit
        if !isTooDeep {
            limit = Self.deepest
            isTooDeep = guarded.withLock { $0.deliverer == thread.address && $0.depth >= limit }
        }
        if isTooDeep { list.reportRecursion(top, limit: limit) }
        return isTooDeep
    }

    func trapInsideUpdate(_ use: String) {
        guard updater.load(ordering: .relaxed) != 0 else { return }
        // The calling thread has its record before it looks: else it could see the address of a thread that
        // is inside, and then be given the record of that thread, which has ended since. So only the thread
        // that is inside can read its own address here.
        let thread = ThreadReference.current.address
        precondition(
            updater.load(ordering: .relaxed) != thread,
            "StateChannel<\(list.layout.type)>.\(use) was used inside the body of `update` of the same channel, which holds its lock"
        )
    }
}
