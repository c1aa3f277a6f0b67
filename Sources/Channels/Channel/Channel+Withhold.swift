/// What a manual lane of `ChannelsTesting` needs: it keeps a message back and posts it again as it was.
extension Channel {
    /// Asks a closure about every message before all interceptors, with what is needed to post it again.
    ///
    /// - Parameter body: Takes the owner, the post and its echo. Returns whether it keeps the message, which is
    ///   then not delivered.
    @discardableResult
    package func withhold<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, Posted<Message>, _ echo: Bool) -> Bool
    ) -> ListenerToken {
        let options = ListenerOptions(Priority(.max), fileID, line)
        let interceptor = Listener<Message>(owner, .interceptor, options) { message, owner, frame in
            owner?.lend(as: Owner.self) { owner in
                let post = Posted(message.load(as: Message.self), PostContext(frame))
                if body(owner, post, frame.pointee.excluded == 0) { frame.stop() }
            }
        }
        return register(interceptor, isolation: nil)
    }

    /// Delivers a message that was withheld, and suspends until every listener has finished with it.
    package func postAgain(
        _ post: Posted<Message>,
        echo: Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        await postAndWait(
            post.message,
            from: post.sender,
            origin: post.origin,
            echo: echo,
            at: .unknown,
            isolation: isolation
        )
    }
}
