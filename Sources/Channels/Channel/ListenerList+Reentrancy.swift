internal import Synchronization

extension ListenerList {
    /// Decides what becomes of a post made while others are under way on this thread.
    ///
    /// - Returns: Nil where it is to be delivered now, else what `post` returns.
    @inline(never)
    func admit(
        _ message: UnsafeMutableRawPointer,
        _ frame: PostFrame.Pointer,
        nestedIn top: PostFrame.Pointer,
        _ thread: ThreadRecord.Pointer
    ) -> Int? {
        guard thread.pointee.depth < ThreadRecord.deepest else {
            reportRecursion(top, limit: ThreadRecord.deepest)
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
            wait(message, frame, behind: outer, depth: depth)
            return activeListenerCount
        }
    }

    /// The innermost post of this list on the calling thread.
    func nearestPost(under top: PostFrame.Pointer?) -> PostFrame.Pointer? {
        var frame = top
        while let candidate = frame {
            // Compared only.
            if candidate.pointee.list.toOpaque() == Unmanaged.passUnretained(self).toOpaque() { return candidate }
            frame = candidate.pointee.previous
        }
        return nil
    }

    /// Keeps a copy of the message until the outer post has gone round.
    private func wait(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer, behind outer: PostFrame.Pointer, depth: Int) {
        let kept = KeptMessage(message, layout)
        let queue = outer.pointee.queue ?? PostQueue()
        outer.pointee.queue = queue
        // The caller of the post holds it.
        let sender = frame.pointee.sender.map { $0.takeUnretainedValue() }
        let echo = frame.pointee.excluded == nil
        let envelope = frame.pointee.envelope
        // The outer post's caller holds its actor until the queue is empty; an actor entered further in may be gone by then.
        let isolation = frame.pointee.isolation == outer.pointee.isolation ? frame.pointee.isolation : nil
        envelope?.tracker?.expectOne(isListener: false)
        queue.posts.append(
            (
                depth,
                { [self] depth, queue in
                    var later = PostFrame(list: self, sender: sender, echo: echo, isolation: nil, envelope: envelope)
                    later.isolation = isolation
                    later.depth = depth
                    later.queue = queue
                    withUnsafeMutablePointer(to: &later) { frame in
                        counter?.posts.wrappingAdd(1, ordering: .relaxed)
                        _ = goRound(kept.address, frame, ThreadRecord.current)
                    }
                    later.end()
                    envelope?.tracker?.finish(.settled)
                    withExtendedLifetime(kept) {}
                }
            )
        )
    }

    /// Reports a post that was refused because too many are under way.
    func reportRecursion(_ top: PostFrame.Pointer, limit: Int) {
        // The post that calls it is under way.
        let listener = top.pointee.listener?.takeUnretainedValue()
        faults.report(.recursionLimit, list: self, listener: listener, detail: "limit \(limit)")
    }
}

/// A copy of a message on the heap.
///
/// Sendable: the address is constant, the message behind it is written before anybody else has the object and destroyed by its deinit.
final class KeptMessage: @unchecked Sendable {
    let address: UnsafeMutableRawPointer
    private let layout: MessageLayout

    init(_ message: UnsafeMutableRawPointer, _ layout: MessageLayout) {
        address = .allocate(byteCount: max(layout.stride, 1), alignment: layout.alignment)
        layout.copy(from: message, to: address)
        self.layout = layout
    }

    /// Room for a message; the caller moves one in.
    init(uninitialised layout: MessageLayout) {
        address = .allocate(byteCount: max(layout.stride, 1), alignment: layout.alignment)
        self.layout = layout
    }

    deinit {
        layout.destroy(address)
        address.deallocate()
    }
}
