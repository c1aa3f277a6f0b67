/// Channels fed from outside this library, only while somebody listens. Modules for other sources use them.
extension Channel {
    /// Creates a channel that calls a closure when listeners have been added or removed.
    ///
    /// A listener whose owner was deallocated is noticed by the next post. Each new channel also checks two
    /// existing ones for such listeners, so that channels without posts do not accumulate.
    ///
    /// - Parameter listeningChanged: Called without locks by the thread that added or removed the listener,
    ///   before `register` or `cancel` returns. Calls may overtake each other: read ``hasListeners``.
    package convenience init(name: String?, listeningChanged: @escaping @Sendable () -> Void) {
        self.init(name: name, reentrancy: .nested(limit: 64), faults: .with(nil), diagnostics: .off)
        list.delegate = DemandDelegate(listeningChanged)
        DemandRotation.shared.add(list)
    }

    /// Whether a listener is registered. Runs no user code, unlike ``isEmpty``: it may be read under a lock.
    package var hasListeners: Bool { list.listenerCountNow > 0 }
}

private final class DemandDelegate: ListenerListDelegate {
    private let changed: @Sendable () -> Void

    init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func listeningChanged(in list: ListenerList) { changed() }
}

/// The lists of these channels, checked in turn.
private final class DemandRotation: Sendable {
    private struct WeakList { weak var list: ListenerList? }

    private struct State {
        var lists: [WeakList] = []
        var next = 0

        /// Returns the next list in turn, and forgets those that were deallocated.
        mutating func turn() -> ListenerList? {
            while !lists.isEmpty {
                if next >= lists.count { next = 0 }
                if let list = lists[next].list {
                    next += 1
                    return list
                }
                lists.swapAt(next, lists.count - 1)
                lists.removeLast()
            }
            return nil
        }
    }

    static let shared = DemandRotation()

    private let state = Locked(State())

    func add(_ list: ListenerList) {
        let chosen = state.withLock { state in
            let chosen = [state.turn(), state.turn()]
            state.lists.append(WeakList(list: list))
            return chosen
        }
        // Without the lock, because counting releases the closures of listeners without an owner.
        for list in chosen { _ = list?.activeListenerCount }
    }
}
