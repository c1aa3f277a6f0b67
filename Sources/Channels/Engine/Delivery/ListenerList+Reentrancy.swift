internal import Synchronization

extension ListenerList {
    /// Begins a post. Returns nil to deliver it, or the result of `post`.
    @inline(__always)
    func begin(_ frame: FrameReference, _ thread: ThreadReference) -> Int? {
        guard let top = thread.pointee.top else { return nil }
        return nest(frame, in: top, thread)
    }

    /// Begins a post made inside others on this thread. Returns what ``begin(_:_:)`` returns.
    @inline(never)
    private func nest(_ frame: FrameReference, in top: FrameReference, _ thread: ThreadReference) -> Int? {
        thread.pointee.forgetSlots()
        guard thread.pointee.hasRoom else {
            reportStack(top)
            return 0
        }
        frame.pointee.chain = top.pointee.chain
        guard let outer = nearestPost(under: top) else { return nil }
        let depth = outer.pointee.depth + 1
        guard depth <= reentrancy.limit else {
            reportRecursion(top, limit: reentrancy.limit)
            return 0
        }
        guard reentrancy.isQueued else {
            frame.pointee.depth = depth
            return nil
        }
        wait(frame, behind: outer, depth: depth)
        return pruneAndCount()
    }

    /// Returns the innermost post of this list on the calling thread.
    func nearestPost(under top: FrameReference?) -> FrameReference? {
        var frame = top
        while let candidate = frame {
            if candidate.pointee.list == Unretained(self) { return candidate }
            frame = candidate.pointee.previous
        }
        return nil
    }

    /// Keeps a copy of the message until the outer post has ended.
    private func wait(_ frame: FrameReference, behind outer: FrameReference, depth: Int) {
        // Balanced in `postWithMore`, which delivers what waits.
        let queue = outer.pointee.queue ?? .retaining(PostQueue())
        outer.pointee.queue = queue
        let kept = KeptMessage(copying: frame.pointee.message, layout)
        let sender = frame.pointee.sender?.living
        let (site, echo) = (frame.pointee.site, frame.pointee.excluded == 0)
        let envelope = frame.pointee.envelope
        // The message has its turn on the outer post's actor, which that post's caller keeps alive until the queue is
        // empty. An actor entered further in may have been deallocated by then.
        let isElsewhere = frame.pointee.isolation != 0 && frame.pointee.isolation != outer.pointee.isolation
        let isolation = isElsewhere ? 0 : outer.pointee.isolation
        let chain = frame.pointee.chain
        envelope?.tracker?.expectOne(isListener: false)
        let deliver = { [self] in
            var later = PostFrame(self, kept.address, PostOptions(from: sender, echo: echo, at: site, envelope))
            later.isolation = isolation
            later.depth = depth
            later.chain = chain
            later.queue = queue
            _ = later.lend { deliverObserved($0) }
            later.end()
            envelope?.tracker?.finish(.settled)
            withExtendedLifetime(kept) {}
        }
        queue.borrow { $0.posts.append(deliver) }
    }

    func reportRecursion(_ top: FrameReference, limit: Int) {
        reportRecursion(top, "limit \(limit)")
    }

    func reportStack(_ top: FrameReference) {
        reportRecursion(top, "too many posts are nested on the thread, or too little of its stack is left")
    }

    private func reportRecursion(_ top: FrameReference, _ detail: String) {
        // The post that calls the listener is in progress and keeps it alive.
        let listener = top.pointee.listener?.object
        faults.report(.recursionLimit, list: self, listener: listener, detail: .text(detail))
    }
}
