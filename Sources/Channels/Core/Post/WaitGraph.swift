/// Which listeners the calls of async listeners and responders wait for, so that none waits for itself through
/// others.
///
/// A call that posts and waits adds each listener before that one can be called, and a call that drains a listener
/// adds that one. It leaves out those from which, along what is waited for already, a call is reached that waits for
/// its own end: the circle, which would never end, is not closed. All waits of the process are in one graph, because
/// circles lead through channels that do not know of each other.
///
/// `waits`, and the listeners of each, are guarded by the lock. Listeners are released without it: their closures
/// go with them.
final class WaitGraph: Sendable {
    static let shared = WaitGraph()

    /// A post for whose listeners a call waits, or a listener that it drains.
    final class Wait: @unchecked Sendable {  // the listeners are reached under the graph's lock only
        let chain: ListenerChain
        fileprivate var listeners: [ListenerEntry] = []
        /// Under which it stands in ``WaitGraph/waits``.
        fileprivate var keys: [ObjectIdentifier] = []

        init(_ chain: ListenerChain) { self.chain = chain }
    }

    private typealias Waits = [ObjectIdentifier: [ObjectIdentifier: Wait]]

    /// By the listener whose call waits, also through calls further in.
    private let waits = Locked<Waits>([:])

    /// Adds a listener to what a call waits for. False if that one waits, directly or not, for the call.
    ///
    /// - Complexity: O(*n*) in the number of waits that can be reached.
    func add(_ listener: ListenerEntry, to wait: Wait) -> Bool {
        // Released behind the lock: a call may end meanwhile.
        var visited: [ListenerChain] = []
        return waits.withLock { waits in
            guard !leads(from: listener, to: wait.chain, waits, &visited) else { return false }
            if wait.keys.isEmpty {
                wait.keys = Array(Set(wait.chain.listenersThatWait(&visited).map { ObjectIdentifier($0) }))
                for key in wait.keys { waits[key, default: [:]][ObjectIdentifier(wait)] = wait }
            }
            wait.listeners.append(listener)
            return true
        }
    }

    /// A listener has finished. The caller keeps it.
    func remove(_ listener: ListenerEntry, from wait: Wait) {
        waits.withLock { _ in
            guard let index = wait.listeners.firstIndex(where: { $0 === listener }) else { return }
            wait.listeners.swapAt(index, wait.listeners.count - 1)
            wait.listeners.removeLast()
        }
    }

    /// Nobody waits any more.
    func remove(_ wait: Wait) {
        var released: [ListenerEntry] = []
        waits.withLock { waits in
            swap(&wait.listeners, &released)
            for key in wait.keys {
                waits[key]?[ObjectIdentifier(wait)] = nil
                if waits[key]?.isEmpty == true { waits[key] = nil }
            }
            wait.keys = []
        }
    }

    /// How many listeners wait: for tests.
    var count: Int { waits.withLock(\.count) }

    private func leads(
        from listener: ListenerEntry,
        to chain: ListenerChain,
        _ waits: Waits,
        _ visited: inout [ListenerChain]
    ) -> Bool {
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(listener)]
        var rest = [listener]
        while let next = rest.popLast() {
            if chain.waits(for: next, &visited) { return true }
            for wait in (waits[ObjectIdentifier(next)] ?? [:]).values where wait.chain.waits(for: next, &visited) {
                rest += wait.listeners.filter { seen.insert(ObjectIdentifier($0)).inserted }
            }
        }
        return false
    }
}
