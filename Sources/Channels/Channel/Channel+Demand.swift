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
    /// Creates a channel whose source runs only while somebody listens.
    ///
    /// ```swift
    /// let position = Channel<Fix>(onDemand: { position in
    ///     let sensor = Sensor { fix in position.post(fix) }
    ///     return { sensor.stop() }
    /// })
    /// ```
    ///
    /// A paused listener is no demand. If the source keeps the channel, the channel lives until its last
    /// listener goes.
    ///
    /// - Parameters:
    ///   - onDemand: Called when there is a first listener that is not paused: takes the channel, starts the
    ///     source, and returns what stops it. That is called when the last such listener is removed or paused,
    ///     or the channel is deallocated or finished. Then it may begin again. The calls alternate, never overlap
    ///     and hold no lock. They run on the thread that made the change, or on one that is making such a call.
    ///     A deallocated owner is noticed at the next post, or when the thread that registered the first
    ///     listener happens to register others.
    @_disfavoredOverload  // the trailing closure of `Channel { … }` is a fault handler
    public convenience init(
        onDemand: @escaping @Sendable (Channel<Message>) -> @Sendable () -> Void,
        reentrancy: Reentrancy = .nested(limit: 64),
        onFault: FaultHandler? = nil
    ) {
        self.init(reentrancy: reentrancy, onFault: onFault)
        Demand.follow(list) { [weak self] in self.map(onDemand) }
    }
}

private final class DemandDelegate: ListenerListDelegate {
    private let changed: @Sendable () -> Void

    init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func didChangeListening(in list: ListenerList) { changed() }
}

/// Starts a source when there is a first listener that is not paused, and stops it after the last one. `state` is
/// guarded by its mutex; the closures are called without it.
final class Demand: ListenerListDelegate {
    typealias Stop = @Sendable () -> Void

    private enum Call { case start, stop(Stop?) }

    private struct State {
        var isHeard = false
        /// Whether a thread is calling a closure. It checks again afterwards.
        var isCalling = false
        /// What stops the source. Used only by the thread that is calling.
        var stop: Stop?
    }

    private let state = Locked(State())
    /// Nil if the channel is gone.
    private let start: @Sendable () -> Stop?
    private let next: (any ListenerListDelegate)?

    private init(_ start: @escaping @Sendable () -> Stop?, before next: (any ListenerListDelegate)?) {
        self.start = start
        self.next = next
    }

    static func follow(_ list: ListenerList, _ start: @escaping @Sendable () -> Stop?) {
        list.delegate = Demand(start, before: list.delegate)
    }

    func didChangeListening(in list: ListenerList) {
        defer { list.didUnlock() }
        while let call = begin(list) {
            var stop: Stop?
            switch call {
            case .start: stop = start()
            case .stop(let stop): stop?()
            }
            state.withLock { $0 = State(isHeard: $0.isHeard, stop: stop) }
        }
    }

    /// Returns what to call now, if anything.
    private func begin(_ list: ListenerList) -> Call? {
        state.withLock { state -> Call? in
            // Asked under the lock: the later thread gets the later answer.
            let isHeard = list.hasDemand
            guard !state.isCalling, isHeard != state.isHeard else { return nil }
            defer { state = State(isHeard: isHeard, isCalling: true) }
            return isHeard ? .start : .stop(state.stop)
        }
    }

    func didClose(_ list: ListenerList) {
        didChangeListening(in: list)
        next?.didClose(list)
    }

    func resume(_ entry: ListenerEntry) -> Bool { next?.resume(entry) ?? false }
}
