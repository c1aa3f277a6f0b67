extension ListenerToken {
    /// The token of the listener that is running, which it can use to cancel itself; nil outside a listener.
    ///
    /// ```swift
    /// sold.listen(self) { me, sale in if me.isDone { ListenerToken.current?.cancel() } }
    /// ```
    ///
    /// Synchronous listeners, interceptors and observers find it on the thread that calls them. Async
    /// listeners and responders find it in their task and its child tasks. It equals the token that `listen`
    /// returned, but does not keep the listener alive: only the returned token does. Nil in a listener of a
    /// ``LocalChannel``, whose token must not leave its isolation.
    public static var current: ListenerToken? {
        let thread = ThreadReference.current
        let drain = thread.pointee.drain
        var frame = thread.pointee.top
        // From the inside out. A frame names no listener between its calls.
        while true {
            // The drain is innermost if nothing was posted in it since.
            if let drain, drain.pointee.previous?.address == frame?.address, let listener = drain.pointee.listener {
                return listener.object
            }
            guard let post = frame else { return ListenerChain.call?.listener }
            if let listener = post.pointee.listener {
                return post.pointee.list.borrow(\.isLocal) ? nil : listener.object
            }
            frame = post.pointee.previous
        }
    }
}
