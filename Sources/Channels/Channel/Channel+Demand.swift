/// Channels whose source outside the library runs only while they have listeners.
extension Channel {
    /// Creates a channel that calls a closure after listeners have been added or removed.
    ///
    /// A listener whose owner was deallocated is noticed by the next post, or later, as the thread that registered the
    /// channel's first listener registers others.
    ///
    /// - Parameter listeningChanged: Called without locks by the thread that added or removed the listener,
    ///   before `register` or `cancel` returns. Calls may overtake each other: read ``hasListeners``.
    package convenience init(name: String?, listeningChanged: @escaping @Sendable () -> Void) {
        self.init(name: name, reentrancy: .nested(limit: 64), faults: .with(nil))
        list.delegate = DemandDelegate(listeningChanged)
    }

    /// Whether a listener is registered. Runs no user code, unlike ``isEmpty``: it may be read under a lock.
    package var hasListeners: Bool { list.listenerCountNow > 0 }
}

extension Channel {
    /// Creates a channel that calls a closure when its first listener is added and when its last one is
    /// removed, to start and stop its source.
    ///
    /// ```swift
    /// let position = Channel<Fix>(onDemand: { hasListeners in
    ///     hasListeners ? sensor.start() : sensor.stop()
    /// })
    /// ```
    ///
    /// - Parameters:
    ///   - onDemand: Called alternately with true (first listener added) and false (last one removed, or the
    ///     channel deallocated or finished). Calls never overlap and hold no lock. They run on the thread
    ///     that made the change, or on one already calling the closure. A deallocated owner is noticed at the
    ///     next post, or when the thread that registered the first listener happens to register others.
    @_disfavoredOverload  // the trailing closure of `Channel { … }` is a fault handler
    public convenience init(
        onDemand: @escaping @Sendable (_ hasListeners: Bool) -> Void,
        reentrancy: Reentrancy = .nested(limit: 64),
        onFault: FaultHandler? = nil
    ) {
        self.init(reentrancy: reentrancy, onFault: onFault)
        Demand.report(onDemand, of: list)
    }
}

private final class DemandDelegate: ListenerListDelegate {
    private let changed: @Sendable () -> Void

    init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func didChangeListening(in list: ListenerList) { changed() }
}

/// Reports when the first listener is added and the last one removed. `state` is guarded by its mutex; `onDemand`
/// is called without it.
final class Demand: ListenerListDelegate {
    private struct State {
        var isHeard = false
        /// Whether a thread is calling the closure. It checks again afterwards.
        var isReporting = false
    }

    private let state = Locked(State())
    private let onDemand: @Sendable (Bool) -> Void
    private let next: (any ListenerListDelegate)?

    private init(_ onDemand: @escaping @Sendable (Bool) -> Void, before next: (any ListenerListDelegate)?) {
        self.onDemand = onDemand
        self.next = next
    }

    static func report(_ onDemand: @escaping @Sendable (Bool) -> Void, of list: ListenerList) {
        list.delegate = Demand(onDemand, before: list.delegate)
    }

    func didChangeListening(in list: ListenerList) {
        while let isHeard = begin(list) {
            onDemand(isHeard)
            state.withLock { $0.isReporting = false }
        }
    }

    private func begin(_ list: ListenerList) -> Bool? {
        state.withLock { state in
            // Read under the lock: the later thread reads the later count.
            let isHeard = list.listenerCountNow > 0
            guard !state.isReporting, isHeard != state.isHeard else { return nil }
            state = State(isHeard: isHeard, isReporting: true)
            return isHeard
        }
    }

    func didClose(_ list: ListenerList) {
        didChangeListening(in: list)
        next?.didClose(list)
    }

    func resume(_ entry: ListenerEntry) -> Bool { next?.resume(entry) ?? false }
}
