/// The outcome of a message posted with ``Channel/postAndWait(_:from:echo:fileID:line:isolation:)``.
///
/// `reached` = `completed` + `failures` + `dropped` + `discarded`, unless the waiting task was cancelled:
/// then it covers the listeners finished by then.
public struct DeliveryReport: Sendable {
    /// How many listeners the message was handed to.
    public internal(set) var reached = 0
    /// How many listeners finished. A sequence finishes once the message is in its buffer.
    public internal(set) var completed = 0
    /// How many of those are sequences, whose readers may not have it yet.
    package internal(set) var buffered = 0
    /// The listeners that threw.
    public internal(set) var failures: [DeliveryFailure] = []
    /// How many listeners dropped the message, because of a full buffer or their ``OverlappingPolicy``.
    public internal(set) var dropped = 0
    /// How many listeners were cancelled, or lost their owner, while the message was queued.
    public internal(set) var discarded = 0

    package init(
        reached: Int = 0,
        completed: Int = 0,
        failures: [DeliveryFailure] = [],
        dropped: Int = 0,
        discarded: Int = 0
    ) {
        self.reached = reached
        self.completed = completed
        self.failures = failures
        self.dropped = dropped
        self.discarded = discarded
    }

    /// Whether every listener reached has finished without an error, before the waiting task was cancelled.
    public var isComplete: Bool { completed == reached }
}

extension DeliveryReport: CustomStringConvertible {
    /// One line: `3 reached: 1 completed, 1 failed, 1 dropped`.
    public var description: String {
        var parts = ["\(completed) completed"]
        for (count, what) in [(failures.count, "failed"), (dropped, "dropped"), (discarded, "discarded")]
        where count > 0 {
            parts.append("\(count) \(what)")
        }
        let unfinished = reached - completed - failures.count - dropped - discarded
        if unfinished > 0 { parts.append("\(unfinished) unfinished") }
        return "\(reached) reached: \(parts.joined(separator: ", "))"
    }
}
