internal import Synchronization

// A message's path through a list: begin, walk, end.
extension ListenerList {
    /// Delivers a message to every listener registered now.
    ///
    /// - Parameters:
    ///   - message: Only read: interceptors work on a copy.
    ///   - site: Where the post is written, for those who look at it.
    /// - Returns: How many listeners were called or enqueued.
    @usableFromInline
    func post(
        _ message: MessageAddress,
        from sender: AnyObject?,
        echo: Bool,
        isolation: (any Actor)?,
        at site: PackedSite
    ) -> Int {
        if isMetered { return postMetered(message, from: sender, echo: echo, isolation: isolation, at: site) }
        if head.load(ordering: .acquiring) == 0, interceptorHead.load(ordering: .relaxed) == 0 { return 0 }
        return postToListeners(message, from: sender, echo: echo, isolation: isolation)
    }

    /// Posts a message where somebody may listen. By itself, so that a post that nobody hears makes no frame.
    @inline(never)
    private func postToListeners(
        _ message: MessageAddress,
        from sender: AnyObject?,
        echo: Bool,
        isolation: (any Actor)?
    ) -> Int {
        var frame = PostFrame(list: self, sender: sender, echo: echo, isolation: isolation)
        defer { frame.end() }
        return frame.lend { postUnmetered(message, in: $0) }
    }

    /// Posts a message that has an envelope.
    ///
    /// - Returns: How many listeners were called or enqueued.
    @discardableResult
    func post(
        _ message: MessageAddress,
        from sender: AnyObject?,
        echo: Bool,
        isolation: (any Actor)?,
        envelope: Envelope,
        at site: PackedSite
    ) -> Int {
        var frame = PostFrame(list: self, sender: sender, echo: echo, isolation: isolation, envelope: envelope)
        defer { frame.end() }
        return frame.lend { post(message, in: $0, at: site) }
    }

    func post(_ message: MessageAddress, in frame: FrameReference, at site: PackedSite) -> Int {
        isMetered ? postMetered(message, in: frame, at: site) : postUnmetered(message, in: frame)
    }

    /// Inlined where most posts are made: the loop over the listeners then needs fewer registers.
    @inline(__always)
    private func postUnmetered(_ message: MessageAddress, in frame: FrameReference) -> Int {
        let thread = ThreadReference.current
        if let refused = begin(message, frame, thread) { return refused }
        let reached = withPost(frame, thread) { deliver(message, frame) }
        if frame.pointee.hasExtras { deliverQueued(frame) }
        return reached
    }

    /// Delivers to the listeners registered before a number, or to one of them, for a channel that delivers one
    /// message after the other.
    ///
    /// - Parameter chain: How many posts and changes led to this one, itself included.
    func post(
        _ message: MessageAddress,
        isolation: (any Actor)?,
        before number: UInt64,
        onlyTo only: ListenerEntry?,
        chain: Int,
        envelope: Envelope?
    ) {
        var frame = PostFrame(list: self, isolation: isolation, envelope: envelope)
        frame.isTurn = true
        frame.chain = chain
        defer { frame.end() }
        frame.lend { frame in
            if isMetered, only == nil {
                _ = meter(message, frame, at: .unknown) {
                    withPost(frame, .current) { deliver(message, frame, before: number) }
                }
                return
            }
            withPost(frame, .current) {
                if let only {
                    _ = deliverWithCare(message, frame, only, before: number)
                } else {
                    _ = deliver(message, frame, before: number)
                }
            }
        }
    }

    /// Makes a frame the innermost post of the thread while a body visits the listeners.
    @inline(__always)
    func withPost<Result>(_ frame: FrameReference, _ thread: ThreadReference, _ body: () -> Result) -> Result {
        let outer = thread.pointee.top
        frame.pointee.previous = outer
        thread.pointee.top = frame
        enter(thread)
        let result = body()
        // Leaving may free closures. What their deinits post is nested in this post, and on a queued channel
        // waits for its end.
        leave(thread)
        thread.pointee.top = frame.pointee.previous
        return result
    }

    /// Announces that the thread reads this list: no entry that it can reach is freed until `leave`.
    @inline(__always)
    func enter(_ thread: ThreadReference) {
        let depth = thread.pointee.depth
        thread.pointee.depth = depth + 1
        if isLocal {
            localPosts += 1
            return
        }
        let group = thread.pointee.group
        // Before the slot is set: a canceller that does not see the bit precedes this post, which then does
        // not meet the unlinked entry.
        if posters.load(ordering: .acquiring) & group == 0 {
            posters.bitwiseOr(group, ordering: .sequentiallyConsistent)
        }
        let slot = thread.pointee.slot(depth)
        if depth >= thread.pointee.used.load(ordering: .relaxed) {
            require(depth < ThreadRecord.slotCount, "too many nested uses of channels on one thread")
            thread.pointee.used.store(depth + 1, ordering: .sequentiallyConsistent)
        }
        slot.pointee.sequence.store(slot.pointee.sequence.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        // A full barrier: a thread that unlinks an entry from here on sees this post, or this post sees that
        // it is unlinked.
        _ = slot.pointee.list.exchange(address, ordering: .sequentiallyConsistent)
    }

    @inline(__always)
    func leave(_ thread: ThreadReference) {
        let depth = thread.pointee.depth - 1
        thread.pointee.depth = depth
        if isLocal {
            localPosts -= 1
        } else {
            // Without a full barrier: what is read below may be older. Whoever retires an entry looks again.
            thread.pointee.slot(depth).pointee.list.store(0, ordering: .releasing)
        }
        if hasRetired.load(ordering: .acquiring) { collectAfterPost() }
    }
}

// MARK: - Walking

extension ListenerList {
    /// Walks the chain of listeners. The caller has entered the list.
    @inline(__always)
    func deliver(_ message: MessageAddress, _ frame: FrameReference) -> Int {
        let number = nextNumber.load(ordering: .sequentiallyConsistent)
        if interceptorHead.load(ordering: .sequentiallyConsistent) != 0 {
            return interceptAndDeliver(message, frame, before: number)
        }
        return deliver(message, frame, before: number)
    }

    /// Delivers to the listeners registered before a number. The caller has entered the list.
    @inline(__always)
    func deliver(_ message: MessageAddress, _ frame: FrameReference, before number: UInt64) -> Int {
        // With 0 every listener takes the slow path.
        let limit = frame.pointee.takesCare ? 0 : number
        var reached = 0
        var address = head.load(ordering: .sequentiallyConsistent)
        while let entry = Unretained<ListenerEntry>(address: address) {
            // The list is entered: no entry that this walk can reach is freed before it ends, so none is
            // retained.
            entry.borrow { listener in
                let word = listener.word.load(ordering: .acquiring)
                if word < limit {
                    frame.pointee.listener = entry
                    listener.body.callBare(message)
                    reached &+= 1
                } else if word ^ ListenerEntry.owned < limit {
                    // Retained for the call, and released behind it.
                    if let owner = listener.retainedOwner {
                        frame.pointee.listener = entry
                        listener.body.callBare(message, owner: OwnerReference(owner))
                        reached &+= 1
                        owner.release()
                    } else {
                        endOrphan(listener)
                    }
                } else {
                    let count = deliverWithCare(message, frame, listener, before: number)
                    reached &+= count
                    if count > 1, let last = frame.pointee.listener {
                        address = last.borrow { $0.next.load(ordering: .sequentiallyConsistent) }
                        return
                    }
                }
                address = listener.next.load(ordering: .sequentiallyConsistent)
            }
        }
        return reached
    }

    /// Removes a listener whose owner has gone. By itself, so that the loop has the registers.
    @inline(never)
    private func endOrphan(_ listener: ListenerEntry) { cancel(listener) }

    /// Delivers to a listener that may need special treatment: too new, paused, removed, excluded, counted,
    /// once, or with a mailbox. Short, because it is what happens to listeners with a lane, and to those of
    /// states.
    ///
    /// Where messages wait for a listener, a drain is under way and checks the owner: a weak load per message
    /// would cost more than everything else. `isBusy` may be outdated; then the message starts a drain, as usual.
    ///
    /// - Returns: How many were reached: that listener, and some of those that follow it. Where there is more
    ///   than one, the frame names the last as its listener.
    @inline(never)
    func deliverWithCare(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        before number: UInt64
    ) -> Int {
        guard !frame.pointee.takesCare else {
            return frame.pointee.isOnlyCounted
                ? deliverCounted(message, frame, listener, before: number)
                : deliverWithMoreCare(message, frame, listener, before: number)
        }
        let word = listener.word.load(ordering: .acquiring)
        let bits = word & ~ListenerEntry.owned
        if bits ^ ListenerEntry.special < number {
            return callAlone(listener, message, frame)
        } else if bits ^ ListenerEntry.waits < number {
            // The bit says that there is one.
            let mailbox = listener.certainMailbox
            if mailbox.borrow({ $0.isFree(for: frame.pointee.isolation) }) {
                return callAlone(listener, message, frame)
            }
            return deliverToLane(message, frame, listener, mailbox, before: number)
        } else if bits ^ ListenerEntry.plainWaiter < number {
            return deliverToLane(message, frame, listener, listener.certainMailbox, before: number)
        } else if word ^ ListenerEntry.plainForwarder < number, let forwarder = listener.forwarder {
            return forwarder.borrow { forward(message, frame, $0) }
        }
        return deliverWithMoreCare(message, frame, listener, before: number)
    }

    /// Delivers to a listener that needs no other treatment than to be counted, as most do.
    @inline(never)
    private func deliverCounted(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        before number: UInt64
    ) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        if word < number {
            listener.ensureCounters().borrow { $0.countDirectCall() }
            frame.pointee.beginCall(of: listener)
            listener.body.callBare(message)
            return 1
        }
        guard word ^ ListenerEntry.owned < number, let owner = listener.retainedOwner else {
            return deliverWithMoreCare(message, frame, listener, before: number)
        }
        // Retained for the call, and released behind it.
        listener.ensureCounters().borrow { $0.countDirectCall() }
        frame.pointee.beginCall(of: listener)
        listener.body.callBare(message, owner: OwnerReference(owner))
        owner.release()
        return 1
    }

    /// Delivers to a listener that hears by its lane, and is not free to be called, and to some of those that
    /// follow it and hear by the same lane.
    @inline(never)
    private func deliverToLane(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ mailbox: Unretained<Mailbox>,
        before number: UInt64
    ) -> Int {
        mailbox.borrow { mailbox in
            guard mailbox.mayEnqueueUnseen(for: listener, from: frame.pointee.isolation), !frame.pointee.carriesMore
            else {
                return deliverWithMoreCare(message, frame, listener, before: number)
            }
            guard let lane = mailbox.laneReference else { return mailbox.enqueueToRead(message, for: listener) ? 1 : 0 }
            return lane.borrow { lane in
                listener.next.load(ordering: .relaxed) == 0
                    ? lane.enqueue(message, listener, mailbox)
                    : lane.enqueueForSeveral(message, frame, listener, mailbox, before: number)
            }
        }
    }

    @inline(never)
    private func deliverWithMoreCare(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        before number: UInt64
    ) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        guard word & ListenerEntry.ended == 0, word & ListenerEntry.number < number else { return 0 }
        let mayEnqueueUnseen = word & (ListenerEntry.once | ListenerEntry.forwards | ListenerEntry.paused) == 0
        if mayEnqueueUnseen, !frame.pointee.takesCare, let mailbox = listener.mailboxReference {
            // While messages wait or are being delivered, nobody looks for the owner. Here something travels with
            // the message, or the buffer has a bound.
            let outcome = mailbox.borrow { mailbox -> Bool? in
                guard mailbox.isElsewhere(frame.pointee.isolation), mailbox.isBusy.load(ordering: .relaxed) else {
                    return nil
                }
                return mailbox.enqueue(message, frame, for: listener)
            }
            if let outcome { return outcome ? 1 : 0 }
        }
        let owner = listener.owner
        if word & ListenerEntry.owned != 0 {
            guard let owner else {
                endOrphan(listener)
                return 0
            }
            guard frame.pointee.excluded != Unretained(owner).address else { return 0 }
        }
        guard word & ListenerEntry.paused == 0 else {
            listener.counters?.borrow { $0.countMissed() }
            return 0
        }
        if word & ListenerEntry.once != 0 {
            guard remove(listener, as: ListenerEntry.closed) else { return 0 }
        }
        defer { withExtendedLifetime(owner) {} }
        if let mailbox = listener.mailbox, !mailbox.mayCall(from: frame.pointee.isolation, listener) {
            let isLetIn = mailbox.enqueue(message, frame, for: listener)
            if isMetered { mailbox.noteWaiting() }
            return isLetIn ? 1 : 0
        }
        if word & (ListenerEntry.waits | ListenerEntry.special) != 0 || isMetered {
            listener.ensureCounters().borrow { $0.countDirectCall() }
        }
        // The listener is counted, and waited for, in the hub.
        if let forwarder = listener.forwarder { return forwarder.borrow { forward(message, frame, $0) } }
        call(listener, message, owner, frame)
        return 1
    }

    /// Calls a listener on the current thread and reports the outcome if the poster waits for it.
    func call(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: AnyObject?,
        _ frame: FrameReference
    ) {
        frame.pointee.beginCall(of: listener)
        // The caller holds the owner.
        let reference = owner.map { OwnerReference($0) }
        let envelope = frame.pointee.envelope
        guard let tracker = envelope?.tracker else { return run(listener, message, reference, frame, envelope?.trace) }
        frame.pointee.thrown = nil
        tracker.expectOne()
        run(listener, message, reference, frame, envelope?.trace)
        tracker.finish(frame.pointee.outcome(for: listener))
    }

    /// Calls a listener with a plain body that needs no other treatment than to be counted, and of which there
    /// is one call at a time: its mailbox is free for this post, or its messages have turns.
    @inline(never)
    private func callAlone(_ listener: ListenerEntry, _ message: MessageAddress, _ frame: FrameReference) -> Int {
        frame.pointee.beginCall(of: listener)
        guard listener.hasOwner else {
            listener.counters?.borrow { $0.countLoneCall() }
            listener.body.callBare(message)
            return 1
        }
        // Retained for the call, and released behind it.
        guard let owner = listener.retainedOwner else {
            endOrphan(listener)
            return 0
        }
        listener.counters?.borrow { $0.countLoneCall() }
        listener.body.callBare(message, owner: OwnerReference(owner))
        owner.release()
        return 1
    }
}
