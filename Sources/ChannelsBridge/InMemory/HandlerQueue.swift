internal import Channels

/// Calls a handler for one item at a time, with no lock held, on the thread that delivers first.
///
/// `state` is guarded by its lock.
package final class HandlerQueue<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var isDelivering = false
        var isClosed = false
        /// Tasks that wait for the delivery to end.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let handler: @Sendable (Item) -> Void
    private let state = Locked(State())

    package init(_ handler: @escaping @Sendable (Item) -> Void) {
        self.handler = handler
    }

    /// Adds an item. May be called while a lock is held; the caller has to call ``deliver()`` once it has
    /// released it.
    package func enqueue(_ item: Item) {
        state.withLock { if !$0.isClosed { $0.items.append(item) } }
    }

    /// Calls the handler for every item, unless another thread is already doing so: then that thread takes
    /// these, too.
    package func deliver() {
        var isMine = state.withLock { state in
            guard !state.isDelivering else { return false }
            state.isDelivering = true
            return true
        }
        while isMine {
            let items = state.withLock { state in
                defer { state.items = [] }
                return state.isClosed ? [] : state.items
            }
            for item in items {
                // `close` also ends a batch that has begun.
                if state.withLock({ $0.isClosed }) { break }
                handler(item)
            }
            let (hasMore, waiting) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
                if !state.items.isEmpty, !state.isClosed { return (true, []) }
                state.isDelivering = false
                defer { state.waiting = [] }
                return (false, state.waiting)
            }
            for continuation in waiting { continuation.resume() }
            isMine = hasMore
        }
    }

    /// Returns when the handler has been called for every item that was added before this call.
    package func finish() async {
        deliver()
        await waitUntilIdle()
    }

    /// Stops the calls and drops the remaining items. No call is running once this has returned.
    package func close() async {
        // The items are released without the lock.
        _ = state.withLock { state in
            state.isClosed = true
            defer { state.items = [] }
            return state.items
        }
        await waitUntilIdle()
    }

    private func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isDelivering { state.waiting.append(continuation) }
                return !state.isDelivering
            }
            if isIdle { continuation.resume() }
        }
    }
}
