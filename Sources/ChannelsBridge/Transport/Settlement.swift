/// The outcome of a durable message, as reported to the broker.
public enum Settlement: Hashable, Sendable {
    /// Its listeners have finished, and the broker need not deliver it again.
    case acknowledged
    /// Deliver it again, after this delay or later.
    case retry(after: Duration)
    /// It can never be handled, and the broker must not deliver it again.
    case terminated
}
