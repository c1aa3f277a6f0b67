/// Withholds messages and posts them again unchanged, for the manual lanes of `ChannelsTesting`.
extension Channel {
    /// Asks a closure about every message, before all interceptors.
    /// - Parameter body: Takes the owner, the post and its `echo`. Returns whether to withhold the message.
    @discardableResult
    package func withhold<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Posted<Message>, _ echo: Bool) -> Bool
    ) -> ListenerToken {
        intercept(owner, ListenerOptions(ListenerPriority(.max), fileID, line)) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                let post = Posted(message.load(as: Message.self), frame.envelope)
                if body(owner, post, frame.pointee.excluded == 0) { frame.stop() }
            }
        }
    }

    /// Delivers a withheld message, and suspends until every listener has finished with it.
    package func postAgain(
        _ post: Posted<Message>,
        echo: Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        await postAndWait(
            post.message,
            from: post.sender,
            origin: post.origin,
            post.delivery,
            echo: echo,
            at: .unknown,
            isolation: isolation
        )
    }
}
