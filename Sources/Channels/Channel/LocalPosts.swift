/// The messages of a ``LocalChannel`` with their senders.
public struct LocalPosts<Content>: LocalListenable {
    /// A message of the channel with its sender.
    public typealias Message = LocalPosted<Content>

    private let channel: LocalChannel<Content>

    init(_ channel: LocalChannel<Content>) { self.channel = channel }

    /// Registers a listener with the channel.
    public func register(_ listener: consuming LocalListener<Message>) -> LocalListenerToken {
        let adapted: Listener<Content> = listener.listener.adaptedAtDelivery { message, context in
            LocalPosted(message: message, sender: context.sender)
        }
        return channel.register(LocalListener(adapted))
    }
}

@available(*, unavailable)
extension LocalPosts: Sendable {}

extension LocalChannel {
    /// The messages with their senders.
    public var posts: LocalPosts<Message> { LocalPosts(self) }
}
