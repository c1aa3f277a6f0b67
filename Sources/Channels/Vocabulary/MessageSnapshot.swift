/// A message that was posted, as text.
public struct MessageSnapshot: Codable, Hashable, Sendable {
    /// The number of the message on its channel, from 1, since counting began.
    public var number: Int
    /// How long ago it was posted, in nanoseconds.
    public var ageNanoseconds: Int
    /// The message, see ``Diagnostics/trace(keeping:redacting:)``.
    public var text: String
    /// The type of the object given as `from:`; nil without one.
    public var senderType: String?
    /// The process from which it came; nil where it was posted in this one.
    public var remoteOrigin: String?

    /// How long ago it was posted.
    public var age: Duration { .nanoseconds(ageNanoseconds) }
}
