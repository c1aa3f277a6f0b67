extension ListenerToken {
    /// The token of the listener that is running, which it can use to cancel itself; nil outside a listener.
    ///
    /// ```swift
    /// sold.listen(self) { me, sale in if me.isDone { ListenerToken.current?.cancel() } }
    /// ```
    ///
    /// Available to synchronous listeners, interceptors and observers on the thread that calls them, and to async
    /// listeners and responders in their task and its child tasks. It equals the token that `listen` returned, but does
    /// not keep the listener alive: only the returned token does. Nil in a listener of a ``LocalChannel``, whose token
    /// must not leave its isolation.
    public static var current: ListenerToken? {
        let thread = ThreadReference.current
        let top = thread.pointee.top
        // The drain is innermost if nothing has been posted in it since.
        if let drain = thread.pointee.drain, drain.pointee.previous?.address == top?.address {
            return drain.pointee.listener?.object
        }
        guard let top else { return ListenerChain.call?.listener }
        return top.pointee.list.borrow(\.isLocal) ? nil : top.pointee.listener?.object
    }
}
