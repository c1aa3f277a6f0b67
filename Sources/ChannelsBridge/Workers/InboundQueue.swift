internal import Channels

/// What came in and waits for its turn: bounded by number and by bytes. Filled by a transport, emptied by one
/// task.
///
/// Guarded by its lock.
final class InboundQueue<Item: Sendable>: Sendable {
    enum Outcome { case taken, full, closed }

    private struct State {
        /// Those before `first` have been taken.
        var items: [(item: Item, bytes: Int)] = []
        var first = 0
        var bytes = 0
        var isClosed = false
        /// Dropped since the last time somebody asked.
        var dropped = 0

        var count: Int { items.count - first }

        mutating func popFirst() -> Item? {
            guard first < items.count else { return nil }
            let (item, size) = items[first]
            first += 1
            bytes -= size
            // Half of it has been taken: each item is moved once, on average.
            if first * 2 >= items.count {
                items.removeFirst(first)
                first = 0
            }
            return item
        }
    }

    private let limit: Int
    private let byteLimit: Int
    private let state = Locked(State())
    private let bell = Bell()

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Puts an item in, if there is room. One larger than all the room is taken into an empty queue.
    func add(_ item: Item, bytes: Int) -> Outcome {
        let outcome = state.withLock { state -> Outcome in
            guard !state.isClosed else { return .closed }
            guard state.count < limit, state.count == 0 || state.bytes + bytes <= byteLimit else {
                state.dropped += 1
                return .full
            }
            state.items.append((item, bytes))
            state.bytes += bytes
            return .taken
        }
        if outcome == .taken { bell.ring() }
        return outcome
    }

    /// Waits for the next item; nil where the queue is closed and empty, or empty and the task is cancelled.
    func next() async -> Item? {
        while true {
            let (item, isClosed) = state.withLock { ($0.popFirst(), $0.isClosed) }
            if item != nil || isClosed || Task.isCancelled { return item }
            await bell.wait()
        }
    }

    /// How many were dropped since this was last asked.
    func takeDroppedCount() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    /// Takes nothing in any more. What is in remains to be taken.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    var count: Int { state.withLock { $0.count } }
}
