/// A message of a ``LocalChannel`` with its sender.
public struct LocalPosted<Message> {
    /// The message.
    public let message: Message
    /// The object given as `from:`.
    public let sender: AnyObject?

    /// Creates a post, for tests of code that takes one.
    public init(message: Message, sender: AnyObject? = nil) {
        self.message = message
        self.sender = sender
    }
}
