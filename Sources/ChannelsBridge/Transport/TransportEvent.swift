/// What happens to a connection without a call that could say so.
public enum TransportEvent: Sendable {
    /// The connection is there, for the first time.
    case connected
    /// The connection is lost; the transport tries to restore it. Messages that are not durable may be lost
    /// from now on, in both directions.
    case disconnected(reason: BridgeError?)
    /// The connection is back, with every subscription.
    ///
    /// What may have been lost: every message that others published at most once during the gap, and what was
    /// on its way when the connection broke. `unsent` says how many messages of this process are known to be
    /// lost since the last such event: those that the buffer could not take threw
    /// ``BridgeError/Code/bufferFull`` and are not among them.
    case reconnected(gap: Duration, unsent: Int)
    /// Messages were dropped because they came faster than they were taken: how many, since the last such
    /// event of the pattern.
    case slowConsumer(pattern: String, dropped: Int)
    /// Something failed that no caller waits for: a permission was refused, a broker sent what cannot be
    /// understood.
    case failed(BridgeError)
    /// The connection has ended and will not come back, other than by ``Transport/close(within:)``.
    case closed(reason: BridgeError?)
}
