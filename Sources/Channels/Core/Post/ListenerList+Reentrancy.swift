internal import Synchronization

extension ListenerList {
    /// Decides about a post made while others are under way on this thread.
    ///
    /// - Parameter site: Where the post is written; looked at only if the channel is traced.
    /// - Returns: Nil to deliver it now, otherwise the result of `post`.
    @inline(never)
    func admit(
        _ message: MessageAddress,
        _ frame: FrameReference,
        nestedIn top: FrameReference,
        _ thread: ThreadReference,
        at site: PackedSite = .unknown
    ) -> Int? {
        guard thread.pointee.depth < ThreadRecord.deepest else {
            reportRecursion(top, limit: ThreadRecord.deepest)
            return 0
        }
        guard thread.pointee.stackLeft > ThreadRecord.reservedStack else {
            reportStack(top)
            return 0
        }
        let refused = thread.pointee.spend()
        guard refused == 0 else {
            reportFanOut(top, count: refused)
            return 0
        }
        guard let outer = nearestPost(under: top) else { return nil }
        let depth = outer.pointee.depth + 1
        guard depth <= reentrancy.limit else {
            reportRecursion(top, limit: reentrancy.limit)
            return 0
        }
        switch reentrancy.mode {
        case .nested:
            frame.pointee.depth = depth
            return nil
        case .queued:
            guard wait(message, frame, behind: outer, depth: depth, at: site) else {
                reportFanOut(top, count: outer.pointee.queue?.fanOut.refused ?? 1)
                return 0
            }
            return activeListenerCount
        }
    }

    /// The innermost post of this list on the calling thread.
    func nearestPost(under top: FrameReference?) -> FrameReference? {
        var frame = top
        while let candidate = frame {
            if candidate.pointee.list == Unretained(self) { return candidate }
            frame = candidate.pointee.previous
        }
        return nil
    }

    /// Keeps a copy of the message until the outer post has ended. False where too many wait.
    private func wait(
        _ message: MessageAddress,
        _ frame: FrameReference,
        behind outer: FrameReference,
        depth: Int,
        at site: PackedSite
    ) -> Bool {
        let queue = outer.pointee.queue ?? PostQueue()
        guard queue.fanOut.hasRoom(depth: depth) else { return false }
        queue.fanOut.add(depth: depth)
        let kept = KeptMessage(copying: message, layout)
        outer.pointee.queue = queue
        let sender = frame.pointee.sender?.living
        let echo = frame.pointee.excluded == 0
        let envelope = frame.pointee.envelope
        // The outer post's caller keeps its actor until the queue is empty, and that is where the message has its
        // turn; an actor entered further in may be deallocated by then.
        let isElsewhere = frame.pointee.isolation != 0 && frame.pointee.isolation != outer.pointee.isolation
        let isolation = isElsewhere ? 0 : outer.pointee.isolation
        envelope?.tracker?.expectOne(isListener: false)
        queue.posts.append(
            PostQueue.Waiting(depth: depth) { [self] depth, queue in
                var later = PostFrame(list: self, sender: sender, echo: echo, envelope: envelope)
                later.isolation = isolation
                later.depth = depth
                later.queue = queue
                later.lend { frame in
                    _ = meter(kept.address, frame, at: site) {
                        withPost(frame, .current) { deliver(kept.address, frame) }
                    }
                }
                later.end()
                envelope?.tracker?.finish(.settled)
                withExtendedLifetime(kept) {}
            }
        )
        return true
    }

    /// Delivers what waited for a post to end.
    @inline(never)
    func deliverQueued(_ frame: FrameReference) {
        guard let queue = frame.pointee.queue else { return }
        while let next = queue.posts.popFirst() {
            queue.fanOut.deliver(depth: next.depth)
            next.deliver(next.depth, queue)
        }
    }

    /// Reports a post that was refused because too many are under way.
    func reportRecursion(_ top: FrameReference, limit: Int) {
        reportRecursion(top, "limit \(limit)")
    }

    /// Reports a post that was refused because the stack is nearly used up.
    func reportStack(_ top: FrameReference) {
        reportRecursion(top, "less than \(ThreadRecord.reservedStack >> 10) KB of the thread's stack is left")
    }

    /// Reports a post that was refused because too many have followed from one.
    ///
    /// The 1st, 2nd, 4th, 8th … of them: there may be many, and a handler costs more than all the rest.
    func reportFanOut(_ top: FrameReference, count: Int) {
        // The post that calls the listener is under way, and keeps it.
        reportFanOut(top.pointee.listener?.object, count: count)
    }

    /// The same, where no post is under way on this thread.
    func reportFanOut(_ listener: ListenerEntry?, count: Int) {
        guard count & (count - 1) == 0 else { return }
        reportRecursion(listener, "too many posts follow from one", count: count)
    }

    private func reportRecursion(_ top: FrameReference, _ detail: String) {
        // See above.
        reportRecursion(top.pointee.listener?.object, detail)
    }

    private func reportRecursion(_ listener: ListenerEntry?, _ detail: String, count: Int? = nil) {
        faults.report(.recursionLimit, list: self, listener: listener, count: count, detail: .text(detail))
    }
}
