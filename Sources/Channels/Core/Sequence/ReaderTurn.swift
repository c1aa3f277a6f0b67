internal import CChannels

/// How long a reader of a sequence has found a message each time, without suspending: after a millisecond, others on
/// its actor, and other tasks of the process, have their turn.
///
/// The clock is read after the 1st message, after 4 more, 16 and 64, and then again after 1: a turn lasts about four
/// times as long as it may at most, or one message.
@frozen @usableFromInline
struct ReaderTurn {
    /// How many messages it is until the clock is read.
    @usableFromInline var left: Int32
    private var interval: Int32
    /// When the clock was first read; 0 before.
    private var start: UInt64

    @usableFromInline @inline(__always)
    init() {
        left = 1
        interval = 1
        start = 0
    }

    /// Whether the reader is to suspend before it takes another message. Then its next turn begins.
    @inlinable @inline(__always)
    mutating func ends() -> Bool {
        left &-= 1
        return left < 0 && hasTakenTooLong()
    }

    @usableFromInline @inline(never)
    mutating func hasTakenTooLong() -> Bool {
        let now = channels_nanoseconds()
        if start == 0 { start = now }
        guard now - start <= DrainTurn.longest else {
            self = ReaderTurn()
            return true
        }
        interval = interval < 64 ? interval * 4 : 1
        // Without the one that is taken next.
        left = interval - 1
        return false
    }
}
