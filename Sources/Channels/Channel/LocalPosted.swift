/// A message of a ``LocalChannel`` with its sender.
public struct LocalPosted<Message> {
    /// The message.
    public let message: Message
    /// The object given as `from:`.
    public let sender: AnyObject?
}
