/// Channels with an external source that runs only while they have listeners.
extension Channel {
    /// Creates a channel that calls a closure after listeners have been added or removed.
    ///
    /// A listener whose owner was deallocated counts until the next post, or until the thread that registered the
    /// channel's first listener registers others and finds it.
    ///
    /// - Parameter listeningChanged: Called without locks by the thread that added or removed the listener, before
    ///   `register` or `cancel` returns. Calls may arrive out of order, so read ``hasListeners`` in them.
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
    /// Paused listeners do not count. If the source keeps the channel alive, the channel lives until its last listener
    /// ends.
    ///
    /// - Parameters:
    ///   - onDemand: Takes the channel, starts the source, and returns a closure that stops it. Called when the first
    ///     listener that is not paused appears. The stop closure is called when the last such listener is removed or
    ///     paused, or when the channel is deallocated or finished. After that, the source may be started again. The
    ///     calls alternate and never overlap. They are made with no lock held, on the thread that made the change or on
    ///     one that is already making such a call. A listener whose owner was deallocated counts until the next post,
    ///     or until the thread that registered the first listener registers others and finds it.
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

/// Starts a source when the first listener that is not paused appears, and stops it after the last one. `state` is
/// guarded by its mutex; the closures are called without it.
final class Demand: ListenerListDelegate {
    typealias Stop = @Sendable () -> Void

    private enum Call { case start, stop(Stop?) }

    private struct State {
        var isHeard = false
        /// Whether a thread is calling a closure. That thread checks the demand again afterwards.
        var isCalling = false
        /// Stops the source. Used only by the thread that is calling a closure.
        var stop: Stop?
    }

    private let state = Locked(State())
    /// Returns nil if the channel has been deallocated.
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
            // Read under the lock, so that the later of two threads gets the later answer.
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
