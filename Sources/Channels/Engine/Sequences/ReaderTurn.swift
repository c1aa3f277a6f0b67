internal import CChannels

/// Limits how long a task reads messages of sequences without suspending, to about a millisecond.
///
/// Each iterator has one, so a message costs one comparison. The time counts from the start of the task's last turn on
/// this thread, so that creating a new sequence for each message does not extend it. The clock is read at the 1st
/// message, after 4, 16 and 64 more, and then after 1 again. So a turn may last four times as long, or as long as one
/// message.
@frozen @usableFromInline
struct ReaderTurn {
    /// How many messages to take before the clock is read.
    @usableFromInline var left: Int32
    private var interval: Int32
    /// When the turn began; 0 before the clock is first read.
    private var start: UInt64

    @usableFromInline
    init() {
        left = 0
        interval = 1
        start = 0
    }

    /// Returns whether the reader must suspend before it takes another message. If so, begins its next turn.
    @inlinable
    mutating func endIfDue() -> Bool {
        left &-= 1
        return left < 0 && endIfTooLong()
    }

    @usableFromInline
    mutating func endIfTooLong() -> Bool {
        let now = channels_nanoseconds()
        if start == 0 { start = ReadingTask.start(now) }
        guard now &- start <= DrainTurn.longest else {
            end()
            return true
        }
        interval = interval < 64 ? interval * 4 : 1
        // The message taken next is already counted.
        left = interval - 1
        return false
    }

    mutating func end() {
        self = ReaderTurn()
        ReadingTask.end()
    }
}
