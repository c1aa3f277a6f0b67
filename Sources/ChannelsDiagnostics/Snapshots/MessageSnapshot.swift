public import Channels

/// A posted message, as text.
public struct MessageSnapshot: Sendable {
    /// The number of the message on its channel, from 1, since counting began.
    package let number: Int
    /// How long ago it was posted.
    public let age: Duration
    /// The message as text, kept by ``Channels/Switchboard/Diagnostics/trace(keeping:redacting:)``.
    public let text: String
    /// The type of the object passed as `from:`; nil if none was.
    public let senderType: String?
    /// Whether it was posted in this process or arrived over a bridge.
    public let origin: MessageOrigin
}
