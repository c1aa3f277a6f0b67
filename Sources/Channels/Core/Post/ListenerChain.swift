internal import Synchronization

/// The call of an async listener or responder in which a task runs: bound to the task for the call.
/// Synchronous listeners need none, because nothing in them can wait.
///
/// `lock` guards `upstream`, `fanOut` and `deepRequests`; the rest is constant or atomic.
final class ListenerChain: @unchecked Sendable {  // guards: see above
    @TaskLocal static var current: ListenerChain?

    private let listener: ListenerEntry
    /// The call that waits for this one. Given up when this one has ended: what it has left behind, nobody
    /// waits for, and a chain of such tasks does not grow.
    @safe @exclusivity(unchecked) private var upstream: ListenerChain?
    /// What requests under way may cost: half a million at the third level, 8,192 from the ninth on.
    private static let most = 1 << 19

    /// What was asked because of this call, and is under way. Of the outermost call only.
    @safe @exclusivity(unchecked) private var fanOut = FanOut(most: ListenerChain.most)
    /// From this depth on, requests are counted also when they have been answered: those that ask twice, one after the
    /// other, would never end.
    private static let deep = 9
    private static let mostDeepRequests = 1 << 16
    /// How many there have been since none was under way that ``fanOut`` counts. Of the outermost call only.
    @safe @exclusivity(unchecked) private var deepRequests = 0
    /// The outermost of the calls that wait for each other; nil if it is this one.
    private let outermost: ListenerChain?
    private let lock = SpinLock()
    /// At most so many calls wait for each other, this one included.
    let depth: Int
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: ListenerEntry, upstream: ListenerChain?) {
        self.listener = listener
        self.upstream = upstream
        outermost = upstream.map { $0.outermost ?? $0 }
        depth = (upstream?.depth ?? 0) + 1
    }

    /// Whether one more request may follow from the outermost call. If so, ``endAsking()`` follows.
    func mayAsk() -> Bool {
        let first = outermost ?? self
        return first.lock.withLock {
            let isDeep = depth >= Self.deep
            guard !isDeep || first.deepRequests < Self.mostDeepRequests, first.fanOut.hasRoom(depth: depth) else {
                return false
            }
            if isDeep { first.deepRequests += 1 }
            first.fanOut.add(depth: depth)
            return true
        }
    }

    /// The request that was asked in this call has been answered.
    func endAsking() {
        let first = outermost ?? self
        first.lock.withLock {
            first.fanOut.deliver(depth: depth)
            // The outermost call may go on for long, and ask again.
            if first.fanOut.isFree { (first.fanOut, first.deepRequests) = (FanOut(most: Self.most), 0) }
        }
    }

    /// From here on a task that the call left behind may wait for the listener.
    func callHasEnded() {
        hasEnded.store(true, ordering: .releasing)
        var released: ListenerChain?
        lock.withLock { swap(&upstream, &released) }
    }

    /// How many calls wait for each other, this one included.
    var liveDepth: Int {
        var count = 0
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            count += 1
            chain = call.lock.withLock { call.upstream }
        }
        return count
    }

    /// Whether this call, or one that waits for it, is a call of a listener, and under way: a call that has
    /// left a task behind waits for nothing any more.
    func waits(for listener: ListenerEntry) -> Bool {
        var visited: [ListenerChain] = []
        return waits(for: listener, &visited)
    }

    /// The same under a lock, where no call may be released: the caller keeps those visited.
    func waits(for listener: ListenerEntry, _ visited: inout [ListenerChain]) -> Bool {
        var chain: ListenerChain? = self
        while let call = chain {
            guard !call.hasEnded.load(ordering: .acquiring) else { return false }
            if call.listener === listener { return true }
            chain = call.lock.withLock { call.upstream }
            if let chain { visited.append(chain) }
        }
        return false
    }

    /// The listeners whose calls are under way and wait for this one's end, that of this call included.
    func listenersThatWait(_ visited: inout [ListenerChain]) -> [ListenerEntry] {
        var listeners: [ListenerEntry] = []
        var chain: ListenerChain? = self
        while let call = chain, !call.hasEnded.load(ordering: .acquiring) {
            listeners.append(call.listener)
            chain = call.lock.withLock { call.upstream }
            if let chain { visited.append(chain) }
        }
        return listeners
    }

    /// Tells listeners apart, as posters.
    var poster: Int { Int(bitPattern: Unretained(listener).address) }

    /// The call in which the calling task runs, unless it has left the task behind.
    static var call: ListenerChain? {
        guard let current, !current.hasEnded.load(ordering: .acquiring) else { return nil }
        return current
    }
}
