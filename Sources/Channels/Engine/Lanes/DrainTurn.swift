internal import CChannels

/// How long a drain may keep its actor or queue: 64 calls or a millisecond, whichever comes first.
///
/// The clock is read after the 1st, 2nd, 4th, 8th … call, so that it costs little: a turn lasts at most twice
/// as long as it may, or one call.
struct DrainTurn {
    /// Why a turn has ended.
    enum End {
        /// Nothing waits any more.
        case idle
        /// There were so many calls.
        case calls
        /// They took so long.
        case time
    }

    static let mostCalls = 64
    /// A millisecond.
    static let longest: UInt64 = 1_000_000

    private let start = channels_nanoseconds()
    private var calls = 0

    /// How many there may still be.
    var callsLeft: Int { Self.mostCalls - calls }

    /// Counts a call. Nil while the turn goes on.
    @inline(__always)
    mutating func endAfterCall() -> End? {
        calls &+= 1
        return calls & (calls &- 1) == 0 ? end : nil
    }

    private var end: End? {
        @inline(never) get {
            if calls >= Self.mostCalls { return .calls }
            return channels_nanoseconds() - start > Self.longest ? .time : nil
        }
    }
}
