internal import Channels

/// A queue of received items, bounded by their number, by bytes and by the bridge's budget. A transport adds
/// items, and one task takes them.
///
/// `state` is guarded by its lock.
final class InboundQueue<Item: Sendable>: Sendable {
    enum Outcome { case taken, full, closed }

    /// An item, its charge to the bridge's budget, if there is one, and how many items were dropped since the
    /// previous one was taken.
    typealias Taken = (item: Item, charge: Charge?, dropped: Int)

    private struct State {
        var items = Fifo<(item: Item, charge: Charge?, bytes: Int)>()
        var room: Room
        var isClosed = false
        var dropped = 0

        mutating func popFirst() -> Taken? {
            guard let (item, charge, size) = items.popFirst() else { return nil }
            room.giveBack(bytes: size)
            defer { dropped = 0 }
            return (item, charge, dropped)
        }
    }

    private let budget: Budget?
    private let state: Locked<State>
    private let bell = Bell()

    /// - Parameter budget: The budget to which items are charged, if any.
    init(limit: Int, byteLimit: Int, budget: Budget? = nil) {
        state = Locked(State(room: Room(messages: limit, bytes: byteLimit)))
        self.budget = budget
    }

    /// Adds an item if it fits. An item larger than the byte limit is accepted by an empty queue.
    func add(_ item: Item, bytes: Int) -> Outcome {
        let charge = budget?.charge(messages: 1, bytes: bytes)
        let outcome = state.withLock { state -> Outcome in
            guard !state.isClosed else { return .closed }
            guard charge != nil || budget == nil, state.room.has(roomFor: bytes) else {
                state.dropped += 1
                return .full
            }
            state.items.append((item, charge, bytes))
            state.room.take(bytes: bytes)
            return .taken
        }
        if outcome == .taken { bell.ring() }
        return outcome
    }

    /// Waits for the next item. Returns nil if the queue is empty, and either it is closed or the task is
    /// cancelled.
    func next() async -> Taken? {
        while true {
            let (taken, isClosed) = state.withLock { ($0.popFirst(), $0.isClosed) }
            if taken != nil || isClosed || Task.isCancelled { return taken }
            await bell.wait()
        }
    }

    /// Removes and returns the next item, if there is one.
    func popFirst() -> Taken? { state.withLock { $0.popFirst() } }

    /// Stops accepting items. Those in the queue can still be taken.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    /// Stops accepting items, and returns those in the queue.
    func closeAndEmpty() -> [Item] {
        close()
        return empty()
    }

    /// Removes and returns the items in the queue.
    func empty() -> [Item] {
        let items = state.withLock { state in
            state.room.giveBackAll()
            defer { state.items = Fifo() }
            return state.items
        }
        return items.map(\.item)
    }

    var count: Int { state.withLock { $0.items.count } }
}
