/// The messages of a local channel with their senders.
struct LocalPosts<Content>: LocalListenable {
    fileprivate let channel: LocalChannel<Content>

    func _register(_ listener: consuming _LocalListener<LocalPosted<Content>>) -> LocalListenerToken {
        let adapted: Listener<Content> = listener.listener.adaptedAtDelivery { message, envelope in
            LocalPosted(message: message, sender: envelope?.sender)
        }
        return channel._register(_LocalListener(adapted))
    }
}

@available(*, unavailable)
extension LocalPosts: Sendable {}

extension LocalChannel {
    /// The messages with their senders.
    public var posts: some LocalListenable<LocalPosted<Message>> { LocalPosts(channel: self) }
}
