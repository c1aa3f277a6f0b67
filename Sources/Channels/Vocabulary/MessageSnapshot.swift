/// A message that was posted, as text.
public struct MessageSnapshot: Sendable {
    /// The number of the message on its channel, from 1, since counting began.
    public let number: Int
    /// How long ago it was posted, in nanoseconds.
    public let ageNanoseconds: Int64
    /// The message as text, kept by ``Diagnostics/trace(keeping:redacting:)``.
    public let text: String
    /// The type of the object given as `from:`; nil without one.
    public let senderType: String?
    /// The process from which it came; nil if it was posted in this one.
    public let remoteOrigin: String?

    /// How long ago it was posted.
    public var age: Duration { .nanoseconds(ageNanoseconds) }
}
