/// Channels that feed on something outside this library, and only while somebody listens: what modules for
/// other sources of events are built on.
extension Channel {
    /// Creates a channel that tells its maker when listeners have been added or removed.
    ///
    /// A listener whose owner was deallocated is noticed with the next post. Where nobody posts, the channels
    /// created here look at each other: each new one looks at two that exist, so that their number stays in
    /// proportion to those in use.
    ///
    /// - Parameters:
    ///   - name: The name of the channel.
    ///   - listeningChanged: Called without locks, by the thread that added or removed the listener, before
    ///     `register` or `cancel` returns. Ask ``hasListeners`` for the outcome: calls may overtake each
    ///     other.
    package convenience init(name: String?, listeningChanged: @escaping @Sendable () -> Void) {
        self.init(name: name, reentrancy: .nested(limit: 64), faults: .with(nil), diagnostics: .off)
        list.delegate = DemandDelegate(listeningChanged)
        DemandRotation.shared.add(list)
    }

    /// Whether a listener is registered. Unlike ``isEmpty`` it does not look whether owners are alive, and so
    /// it runs no code of others: it may be asked under a lock.
    package var hasListeners: Bool { list.listenerCountNow > 0 }
}

private final class DemandDelegate: ListenerListDelegate {
    private let changed: @Sendable () -> Void

    init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func listeningChanged(in list: ListenerList) { changed() }
}

/// The lists of all channels that feed on demand, each looked at in turn.
private final class DemandRotation: Sendable {
    private struct WeakList { weak var list: ListenerList? }

    private struct State {
        var lists: [WeakList] = []
        var next = 0

        /// The next list in turn, if one is left. Forgets those that were deallocated.
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
        // Without the lock: counting removes listeners whose owners are gone, and with them closures.
        for list in chosen { _ = list?.activeListenerCount }
    }
}
