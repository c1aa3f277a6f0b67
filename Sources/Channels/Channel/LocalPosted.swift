/// A message of a ``LocalChannel``, and who posted it.
public struct LocalPosted<Message> {
    /// The message.
    public let message: Message
    /// The object that the poster gave as `from:`.
    public let sender: AnyObject?

    /// Creates a post, for tests of what is handed one.
    public init(message: Message, sender: AnyObject? = nil) {
        self.message = message
        self.sender = sender
    }
}
