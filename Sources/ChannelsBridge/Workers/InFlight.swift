internal import Synchronization

/// Counts the messages of a route that are in flight: those that its listener has yet to finish or, for an
/// incoming route, those that the channel's listeners have yet to finish.
///
/// All state is atomic or constant, and nothing here blocks on a lock, so a message may be released while any
/// lock is held.
final class InFlight: Sendable {
    /// One message in flight, from ``begin()`` until this object is released. Whatever holds the message also
    /// holds this.
    final class Part: Sendable {
        private let all: InFlight
        /// The message's charge to the bridge's budget.
        private let charge: Charge?
        private let hasBegun = Atomic<Bool>(false)

        init(of all: InFlight, _ charge: Charge?) {
            (self.all, self.charge) = (all, charge)
        }

        deinit { if hasBegun.load(ordering: .relaxed) { all.end() } }

        /// Counts the message. Called at most once.
        func begin() {
            all.begin()
            hasBegun.store(true, ordering: .relaxed)
        }
    }

    /// Twice the number of messages, plus one until ``wait()`` is called. The thread that makes it 0 opens
    /// the latch.
    private let number = Atomic<Int>(1)
    private let isOver = Latch()

    var count: Int { number.load(ordering: .relaxed) >> 1 }

    func begin() { number.wrappingAdd(2, ordering: .relaxed) }

    func end() {
        if number.wrappingSubtract(2, ordering: .acquiringAndReleasing).newValue == 0 { isOver.open() }
    }

    /// Returns when no messages are in flight, or they have been abandoned. Call it once no more can begin,
    /// and not in a cancelled task.
    func wait() async {
        if number.bitwiseAnd(~1, ordering: .acquiringAndReleasing).newValue == 0 { isOver.open() }
        try? await isOver.wait()
    }

    /// Stops waiting for the messages in flight.
    ///
    /// - Returns: How many there are.
    @discardableResult
    func abandon() -> Int {
        defer { isOver.open() }
        return count
    }
}
