/// What a bridge has carried so far, and what it has not.
///
/// Every message that an outgoing route took is in one of `sent`, `failed`, `dropped` or waits. Every message
/// that a transport handed over to an incoming route is in one of `received`, `echoes`, `duplicates`,
/// `refused`, `retried`, `overflowed`, `unfinished` or waits, unless an earlier route has it. Of states,
/// those that are replaced before their turn are not counted.
public struct BridgeStatistics: Hashable, Sendable {
    /// Messages and states handed to the transport; durable ones and states acknowledged by the broker.
    public var sent = 0
    /// Messages and states that could not be encoded or sent.
    public var failed = 0
    /// Messages that were not sent because the outgoing buffer was full, or because they still waited when
    /// the bridge ended.
    public var dropped = 0
    /// Messages and states delivered to the switchboard; durable ones with every listener having run.
    public var received = 0
    /// Messages of this bridge's own that came back.
    public var echoes = 0
    /// Durable messages that had been delivered before.
    public var duplicates = 0
    /// Messages that could not be delivered and never will: see ``DeadLetter``.
    public var refused = 0
    /// Durable messages given back to the broker, to be delivered again: their listeners threw, or the buffer
    /// was full.
    public var retried = 0
    /// Messages that were dropped because the incoming buffer was full.
    public var overflowed = 0
    /// Messages that came in and were not, or not wholly, delivered when the bridge ended. The broker
    /// delivers the durable ones again.
    public var unfinished = 0
    /// Requests of this process answered by another.
    public var asked = 0
    /// Requests of other processes answered here, with a response or an error.
    public var answered = 0
    /// Messages that wait to be sent.
    public var waitingToSend = 0
    /// Messages that came in and wait for their turn.
    public var waitingToDeliver = 0

    /// Creates statistics of nothing.
    public init() {}
}
