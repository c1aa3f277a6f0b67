/// How long a drain may go on before others on its actor or queue, and other tasks of the process, have their turn: 64
/// calls or a millisecond, whichever comes first.
///
/// The clock is read after the 1st, 2nd, 4th, 8th … call, so that it costs little: a turn lasts at most twice as long
/// as it may, or one call.
struct DrainTurn {
    private static let mostCalls = 64
    private static let longest = Duration.milliseconds(1)

    private let start = ContinuousClock.now
    private var calls = 0

    /// Counts a call. Whether the turn is over.
    @inline(__always)
    mutating func endsAfterCall() -> Bool {
        calls += 1
        return calls & (calls - 1) == 0 && isOver
    }

    private var isOver: Bool {
        @inline(never) get { calls >= Self.mostCalls || ContinuousClock.now - start > Self.longest }
    }
}
