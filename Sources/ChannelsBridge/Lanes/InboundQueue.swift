internal import Channels

/// What came in and waits for its turn: bounded by number and by bytes. Filled by a transport, emptied by one task.
///
/// Guarded by its lock.
final class InboundQueue<Item: Sendable>: Sendable {
    enum Outcome { case taken, full, closed }

    private struct State {
        var items: [Item] = []
        var bytes = 0
        var isClosed = false
        /// Dropped since the last time somebody asked.
        var dropped = 0
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
            guard state.items.count < limit, state.items.isEmpty || state.bytes + bytes <= byteLimit else {
                state.dropped += 1
                return .full
            }
            state.items.append(item)
            state.bytes += bytes
            return .taken
        }
        if outcome == .taken { bell.ring() }
        return outcome
    }

    /// Waits for items and takes all there are.
    ///
    /// - Returns: The items, in order; none where the queue is closed and empty, or the task is cancelled. And how many were dropped since the last call.
    func takeAll() async -> (items: [Item], dropped: Int) {
        while true {
            let (items, dropped, isClosed) = state.withLock { state in
                defer {
                    state.items = []
                    state.bytes = 0
                    state.dropped = 0
                }
                return (state.items, state.dropped, state.isClosed)
            }
            if !items.isEmpty || isClosed || Task.isCancelled { return (items, dropped) }
            await bell.wait()
        }
    }

    /// Takes nothing in any more. What is in remains to be taken.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    var count: Int { state.withLock { $0.items.count } }
}
