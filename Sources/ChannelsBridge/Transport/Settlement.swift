/// What became of a durable message.
public enum Settlement: Hashable, Sendable {
    /// Its listeners have run: the broker need not deliver it again.
    case acknowledged
    /// It is to be delivered again, not before this time has passed.
    case retry(after: Duration)
    /// It cannot be handled, now or later: the broker must not deliver it again.
    case terminated
}
