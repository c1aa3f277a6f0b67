/// The messages of a source, each with who posted it, on which channel, and where.
///
/// ```swift
/// till.sold.posts.listen(self) { me, post in me.show(post.message, from: post.sender) }
/// ```
///
/// Listening to the posts of a channel is listening to the channel: order, isolation, buffering and accounts
/// are the same, and so is a listener's place among the others.
public struct Posts<Source: Listenable>: Listenable {
    /// A message of the source, and who posted it.
    public typealias Message = Posted<Source.Message>

    @usableFromInline let source: Source

    init(_ source: Source) { self.source = source }

    /// Registers a listener with the source. See ``Listenable/register(_:isolation:)``.
    @inlinable
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(
            listener.adaptedAtDelivery { message, context in Posted(message, context) },
            isolation: isolation
        )
    }
}

extension Listenable {
    /// The messages with who posted them. See ``Posts``.
    public var posts: Posts<Self> { Posts(self) }
}
