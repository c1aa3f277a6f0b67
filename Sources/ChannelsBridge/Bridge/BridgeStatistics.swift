/// The counters of a bridge.
///
/// Every message accepted by an outgoing route is counted in exactly one of `sent`, `failed`, `dropped` and
/// `waitingToSend`. Every message that the transport delivered to an incoming route is counted in exactly one
/// of `received`, `echoes`, `duplicates`, `refused`, `retried`, `overflowed`, `unfinished` and
/// `waitingToDeliver`. Not counted are messages that an earlier route of the bridge has taken, dead letters
/// whose prefix no route spells out, and state values that are replaced before they are sent or applied.
public struct BridgeStatistics: Hashable, Sendable {
    /// Messages and states accepted by the transport. Durable messages and states count once the broker has
    /// acknowledged them.
    public var sent = 0
    /// Messages and states that could not be encoded or sent.
    public var failed = 0
    /// Messages not sent because the outgoing buffer was full, or because they were still queued when the
    /// bridge ended.
    public var dropped = 0
    /// Messages and states delivered to the switchboard. Durable messages count after every listener has
    /// finished.
    public var received = 0
    /// This bridge's own messages that the broker returned.
    public var echoes = 0
    /// Durable messages that had already been delivered, and messages that were put back for another durable name.
    public var duplicates = 0
    /// Messages that can never be delivered (``DeadLetter``), including those that the transport could not
    /// read.
    public var refused = 0
    /// Durable messages returned to the broker for another delivery, because a listener threw or took too
    /// long, its mailbox was full, or the message could not be decoded yet.
    public var retried = 0
    /// Messages dropped because the incoming buffer was full.
    public var overflowed = 0
    /// Received messages whose delivery was incomplete when the bridge ended. The broker delivers durable
    /// ones again.
    public var unfinished = 0
    /// Requests of this process that another process answered.
    public var asked = 0
    /// Requests from other processes answered here, with a response or an error.
    public var answered = 0
    /// Messages queued to be sent.
    public var waitingToSend = 0
    /// Received messages queued for their listeners.
    public var waitingToDeliver = 0

    /// Creates statistics in which every counter is zero.
    public init() {}
}
