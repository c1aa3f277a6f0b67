/// An event of a connection outside any call.
public enum TransportEvent: Sendable {
    /// The connection was established for the first time.
    case connected
    /// The connection is lost, and the transport is reconnecting. Until it is back, messages that are not
    /// durable may be lost in both directions.
    case disconnected(reason: BridgeError?)
    /// The connection is restored, with every subscription.
    ///
    /// Messages that others published at most once during the gap, and messages in flight when the connection
    /// broke, may have been lost. `unsent` is the number of messages of this process that are known to have
    /// been lost since the last such event. Messages that did not fit into the buffer are not included:
    /// publishing them threw ``BridgeError/Code/bufferFull``.
    case reconnected(gap: Duration, unsent: Int)
    /// The broker has lost the last values that it had stored. Later values still have higher revisions.
    ///
    /// First it is reported once with `subject: nil`, then once for each subject that is watched by name and
    /// now has no value. Subjects that only match a watched pattern with wildcards may be left out. A bridge
    /// stores the values of its process again.
    case lastValuesLost(subject: String?)
    /// Messages were dropped because they arrived faster than they were handled. `dropped` is their number
    /// since the last such event for the pattern.
    case slowConsumer(pattern: String, dropped: Int)
    /// Something failed outside a call: a permission was refused, or the broker sent an invalid message.
    case failed(BridgeError)
    /// The connection has ended for good, but not because of ``Transport/close(timeout:)``.
    case closed(reason: BridgeError?)
}
