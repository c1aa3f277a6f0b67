/// The messages of a source with their senders, channel names and origins.
@frozen @usableFromInline
struct Posts<Source: Listenable>: Listenable {
    @usableFromInline let source: Source

    @inlinable
    init(_ source: Source) { self.source = source }

    @inlinable
    func register(
        _ listener: consuming Listener<Posted<Source.Message>>,
        isolation: isolated (any Actor)?
    ) -> ListenerToken {
        source.register(
            listener.adaptedAtDelivery { message, envelope in Posted(message, envelope) },
            isolation: isolation
        )
    }
}

extension Listenable {
    /// The messages with their senders, channel names and origins.
    ///
    /// ```swift
    /// till.sold.posts.listen(self) { me, post in me.show(post.message, from: post.sender) }
    /// ```
    ///
    /// Order, isolation, buffering, counts and a listener's place among the others come from the source.
    @inlinable
    public var posts: some Listenable<Posted<Message>> { Posts(self) }
}
