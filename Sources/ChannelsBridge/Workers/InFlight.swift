internal import Synchronization

/// How many messages of a route are in flight: with its listener, or with those of an incoming one.
///
/// All state is atomic or constant. It never waits for a lock while another is held, so a message may be released
/// under any.
final class InFlight: Sendable {
    /// One of them, from ``begin()`` until it is released. Whoever holds the message holds it.
    final class Part: Sendable {
        private let all: InFlight
        /// What the message takes up in the bridge.
        private let charge: Charge?
        private let hasBegun = Atomic<Bool>(false)

        init(of all: InFlight, _ charge: Charge?) {
            (self.all, self.charge) = (all, charge)
        }

        deinit { if hasBegun.load(ordering: .relaxed) { all.end() } }

        /// Counts the message. Called once at most.
        func begin() {
            all.begin()
            hasBegun.store(true, ordering: .relaxed)
        }
    }

    private let number = Atomic<Int>(0)
    private let isAwaited = Atomic<Bool>(false)
    private let isAbandoned = Atomic<Bool>(false)
    /// Rings when what ``wait()`` waits for may have come.
    private let bell = Bell()

    var count: Int { number.load(ordering: .sequentiallyConsistent) }

    func begin() { number.wrappingAdd(1, ordering: .relaxed) }

    func end() {
        // Either this sees that it is awaited, or who waits sees that it has ended.
        let left = number.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
        if left == 0, isAwaited.load(ordering: .sequentiallyConsistent) { bell.ring() }
    }

    /// Returns when there are none, or they have been abandoned. To be called once, when none begin any more, and not
    /// in a cancelled task.
    func wait() async {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        while count > 0, !isAbandoned.load(ordering: .sequentiallyConsistent) { await bell.wait() }
    }

    /// Waits for none any more.
    ///
    /// - Returns: How many there are.
    @discardableResult
    func abandon() -> Int {
        isAbandoned.store(true, ordering: .sequentiallyConsistent)
        defer { bell.ring() }
        return count
    }
}
