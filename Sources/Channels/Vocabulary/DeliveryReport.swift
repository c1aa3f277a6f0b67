/// The outcome of a message posted with ``Channel/postAndWait(_:from:echo:timeout:fileID:line:isolation:)``.
///
/// `reachedCount` = `completedCount` + `failures.count` + `droppedCount` + `discardedCount` + `unfinishedCount`. The
/// last of these is 0 unless the wait ended early, or left out a listener that itself waits for the poster.
public struct DeliveryReport: Sendable {
    /// How many listeners the message was passed to.
    public internal(set) var reachedCount = 0
    /// How many listeners finished without an error. A sequence finishes once the message is in its buffer.
    public internal(set) var completedCount = 0
    /// How many of those are sequences, whose readers may not have read it yet.
    package internal(set) var bufferedCount = 0
    /// The listeners that threw.
    public internal(set) var failures: [DeliveryFailure] = []
    /// How many listeners dropped the message, because of a full buffer or their ``OverlappingPolicy``.
    public internal(set) var droppedCount = 0
    /// How many listeners were cancelled, or lost their owner, while the message was queued.
    public internal(set) var discardedCount = 0

    /// Creates a report, for test doubles.
    ///
    /// Its ``reachedCount`` is the sum of the numbers given here.
    public init(
        completedCount: Int = 0,
        failures: [DeliveryFailure] = [],
        droppedCount: Int = 0,
        discardedCount: Int = 0,
        unfinishedCount: Int = 0
    ) {
        reachedCount = completedCount + failures.count + droppedCount + discardedCount + unfinishedCount
        self.completedCount = completedCount
        self.failures = failures
        self.droppedCount = droppedCount
        self.discardedCount = discardedCount
    }

    /// How many listeners had not finished when the wait ended.
    ///
    /// The wait ends early when its time is up or its task is cancelled. Inside a listener, it leaves out that
    /// listener, and any other that waits for it: waiting for these would never end.
    public var unfinishedCount: Int { reachedCount - completedCount - failures.count - droppedCount - discardedCount }

    /// Whether the message reached at least one listener, and every listener that it reached has finished without an
    /// error.
    ///
    /// False if there were no listeners, or if an interceptor stopped the message. Listeners to patterns count as
    /// listeners, and so does a bridge that carries the message to other processes.
    public var isComplete: Bool { reachedCount > 0 && completedCount == reachedCount }
}

extension DeliveryReport: CustomStringConvertible {
    /// One line: `3 reached: 1 completed, 1 failed, 1 dropped`.
    public var description: String {
        var parts = ["\(completedCount) completed"]
        for (count, what) in [
            (failures.count, "failed"), (droppedCount, "dropped"), (discardedCount, "discarded"),
            (unfinishedCount, "unfinished"),
        ] where count > 0 {
            parts.append("\(count) \(what)")
        }
        return "\(reachedCount) reached: \(parts.joined(separator: ", "))"
    }
}
