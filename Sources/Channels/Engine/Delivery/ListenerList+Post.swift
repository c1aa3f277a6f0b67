// Delivery: one message on its way through a list, on the poster's thread.
//
// `post` makes a `PostFrame` on the stack; `begin` decides whether it runs now (`+Reentrancy`); `withPost` makes it the
// thread's innermost post and enters the list; `deliver` runs the interceptors (`+Intercept`) and walks the chain
// (`+Deliver`). A plain listener is called in that loop. For all others, `deliverByRoute` first asks `mayReceive`, if
// anything has to be checked; then it calls the listener, or passes the message to the listener's mailbox (Lanes) or to
// another list (`Forwarder`). `PostTracker` counts awaited listeners. This layer and Lanes depend on each other; layers
// above pass in `PostOptions`.

internal import Synchronization

extension ListenerList {
    /// Delivers a message to every listener registered now. Only reads the message. Returns how many listeners were
    /// called or had it enqueued.
    @usableFromInline @discardableResult
    func post(_ message: MessageAddress, _ post: PostOptions) -> Int {
        // A post that a queued channel defers goes to the listeners registered when its turn comes, so it cannot end
        // here.
        if head.load(ordering: .acquiring) == 0, !reentrancy.isQueued, !isObserved { return 0 }
        return postToListeners(message, post)
    }

    /// A separate function, so that a post without listeners makes no frame.
    @inline(never)
    private func postToListeners(_ message: MessageAddress, _ post: PostOptions) -> Int {
        var frame = PostFrame(self, message, post)
        defer { frame.end() }
        return frame.lend { frame in
            let thread = ThreadReference.current
            if let refused = begin(frame, thread) { return refused }
            guard !isObserved, !reentrancy.isQueued else { return postWithMore(frame) }
            return withPost(frame, thread) { deliver(frame) }
        }
    }

    /// Delivers inside the instrument, and then delivers the posts that waited for this one to end.
    @inline(never)
    private func postWithMore(_ frame: FrameReference) -> Int {
        let reached = deliverObserved(frame)
        // Retained by `wait`.
        let queue = frame.pointee.queue?.take()
        while let next = queue?.posts.popFirst() { next() }
        return reached
    }

    @inline(never)
    func deliverObserved(_ frame: FrameReference) -> Int {
        insideInstrument(frame) {
            withPost(frame, .current) { frame.pointee.isTurn ? deliverToListeners(frame) : deliver(frame) }
        }
    }

    /// Delivers a value of a state, whose turn has come, to one listener or to all those that are old enough.
    /// - Parameters:
    ///   - number: The number of the first listener that is too new for the value.
    ///   - chain: How many changes led to the value, its own included.
    @inline(never)
    func postTurn(
        _ message: MessageAddress,
        before number: UInt64,
        chain: Int,
        onlyTo only: ListenerEntry?,
        _ post: PostOptions
    ) {
        var frame = PostFrame(self, message, post)
        defer { frame.end() }
        frame.number = number
        frame.chain = chain
        frame.isTurn = true
        frame.lend { frame in
            if let only {
                // The other listeners of its lane have already received the value.
                guard only.number < frame.pointee.number else { return }
                frame.pointee.listener = Unretained(only)
                _ = withPost(frame, .current) { deliverWithChecks(frame, only) }
            } else if isObserved {
                _ = deliverObserved(frame)
            } else {
                _ = withPost(frame, .current) { deliverToListeners(frame) }
            }
        }
    }

    /// Makes a frame the innermost post of the thread while the body visits the listeners.
    @inline(__always)
    func withPost<Result>(_ frame: FrameReference, _ thread: ThreadReference, _ body: () -> Result) -> Result {
        let outer = thread.pointee.top
        frame.pointee.previous = outer
        thread.pointee.top = frame
        enter(thread)
        let result = body()
        // From here on, the listeners may be freed.
        frame.pointee.listener = nil
        // May free closures. Posts made in their deinits are nested in this one, or wait on a queued channel.
        leave(thread)
        thread.pointee.top = frame.pointee.previous
        return result
    }
}
