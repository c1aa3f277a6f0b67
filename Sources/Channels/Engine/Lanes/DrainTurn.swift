internal import CChannels

/// Limits how long a drain occupies its actor or queue: to 64 calls or about a millisecond. The clock is read only
/// after the 1st, 2nd, 4th, 8th … call, so a turn may last twice as long, or as long as one slow call.
struct DrainTurn {
    enum End {
        case idle
        case calls
        case time
    }

    static let mostCalls = 64
    /// The limit in nanoseconds.
    static let longest: UInt64 = 1_000_000

    private let start = channels_nanoseconds()
    private var calls = 0

    var callsLeft: Int { Self.mostCalls - calls }

    /// Counts a call. Returns nil while the turn continues.
    mutating func endAfterCall() -> End? {
        calls &+= 1
        return calls & (calls &- 1) == 0 ? end : nil
    }

    private var end: End? {
        get {
            if calls >= Self.mostCalls { return .calls }
            return channels_nanoseconds() &- start > Self.longest ? .time : nil
        }
    }
}
