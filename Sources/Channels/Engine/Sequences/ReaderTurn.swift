internal import CChannels

/// How long a task has read messages of sequences without suspending: after a millisecond, others on its actor, and
/// other tasks of the process, have their turn.
///
/// Each iterator has one, so that a message costs a comparison. It begins where the turn of the task's last
/// iterator on this thread began: a task that makes a new sequence for each message does not begin anew with each.
/// The clock is read at the 1st message, after 4 more, 16 and 64, and then again after 1: a turn lasts about four
/// times as long as it may at most, or one message.
@frozen @usableFromInline
struct ReaderTurn {
    /// How many messages it is until the clock is read.
    @usableFromInline var left: Int32
    private var interval: Int32
    /// When the turn began; 0 before the clock is first read.
    private var start: UInt64

    @usableFromInline @inline(__always)
    init() {
        left = 0
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
        if start == 0 { start = ReadingTask.start(now) }
        guard now - start <= DrainTurn.longest else {
            suspends()
            return true
        }
        interval = interval < 64 ? interval * 4 : 1
        // Without the one that is taken next.
        left = interval - 1
        return false
    }

    /// The task suspends: its next turn begins with the next message.
    mutating func suspends() {
        self = ReaderTurn()
        ReadingTask.end()
    }
}
