internal import Synchronization

/// How many messages of a route are in flight: with its listener, or with those of an incoming one.
///
/// All state is atomic or constant. It never waits for a lock while another is held, so a message may be released
/// under any.
final class InFlight: Sendable {
    /// One of them, from ``begin()`` until it is released. Whoever holds the message holds it.
    final class Part: Sendable {
        private let all: InFlight
        /// The message's charge to the bridge's budget.
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

    /// Twice the number of messages, plus one until their end is awaited; the thread that makes it 0 opens
    /// the latch.
    private let number = Atomic<Int>(1)
    private let isOver = Latch()

    var count: Int { number.load(ordering: .relaxed) >> 1 }

    func begin() { number.wrappingAdd(2, ordering: .relaxed) }

    func end() {
        if number.wrappingSubtract(2, ordering: .acquiringAndReleasing).newValue == 0 { isOver.open() }
    }

    /// Returns when there are none, or they have been abandoned. To be called when none begin any more, and not in a
    /// cancelled task.
    func wait() async {
        if number.bitwiseAnd(~1, ordering: .acquiringAndReleasing).newValue == 0 { isOver.open() }
        try? await isOver.wait()
    }

    /// Waits for none any more.
    ///
    /// - Returns: How many there are.
    @discardableResult
    func abandon() -> Int {
        defer { isOver.open() }
        return count
    }
}
