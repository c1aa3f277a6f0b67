internal import CChannels
internal import Dispatch
internal import Synchronization

/// How messages and their tickets come into a lane.
extension Lane {
    /// For so many listeners a message is let in at a time: the drain and other posters wait for the lock.
    private static let mostAtOnce = 32
    /// After how many messages to a listener its owner is looked for. A power of two.
    private static let messagesPerLook = 1_024

    /// Puts a message in with which nothing travels, into a buffer without a bound: what nearly every post does.
    ///
    /// - Returns: 1 if the listener has the message, otherwise 0.
    @inline(__always)
    func enqueue(_ message: MessageAddress, from isolation: UInt, _ listener: ListenerEntry, _ mailbox: Mailbox)
        -> Int
    {
        let thread = ThreadReference.current
        let isOwn = isOwn(isolation, thread)
        let depth = thread.pointee.laneDepth
        var startsDrain = false
        var refused = depth > 1 ? Self.refusalsOfCaller() : 0
        let count =
            refused > 0
            ? 0
            : lock.withLock {
                // `cancel` sets the bit before it takes this lock to discard, so it finds what was enqueued before.
                guard !listener.isCancelled, !mailbox.state.isDead else { return 0 }
                guard state.hasRoom(depth: depth) else {
                    refused = state.refused
                    return 0
                }
                startsDrain = add(message, listener, mailbox, isOwn: isOwn, depth)
                return 1
            }
        if startsDrain { schedule() }
        if refused > 0 { reportRefused(refused, listener) }
        return count
    }

    /// The same, under one lock, for those as well that follow the listener in its list, need no other treatment
    /// and have their turns in this lane, too. The caller has entered the list.
    ///
    /// - Parameter number: That of the first listener which is too new.
    /// - Returns: How many have the message. Where there is more than one, the frame names the last as its
    ///   listener.
    @inline(never)
    func enqueueForSeveral(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        before number: UInt64
    ) -> Int {
        let thread = ThreadReference.current
        let isOwn = isOwn(frame.pointee.isolation, thread)
        let depth = thread.pointee.laneDepth
        var startsDrain = false
        var count = 0
        var refused = depth > 1 ? Self.refusalsOfCaller() : 0
        lock.withLock {
            // See above.
            guard refused == 0, !listener.isCancelled, !mailbox.state.isDead else { return }
            guard state.hasRoom(depth: depth) else {
                refused = state.refused
                return
            }
            startsDrain = add(message, listener, mailbox, isOwn: isOwn, depth)
            count = 1
            // On its own actor the others may have to be called.
            guard !isOwn else { return }
            var address = listener.next.load(ordering: .sequentiallyConsistent)
            while count < Self.mostAtOnce, let entry = Unretained<ListenerEntry>(address: address) {
                let isIn = entry.borrow { listener in
                    address = listener.next.load(ordering: .sequentiallyConsistent)
                    // As in `deliverWithCare`; not if it is cancelled, either.
                    let bits = listener.word.load(ordering: .acquiring) & ~ListenerEntry.owned
                    guard bits ^ ListenerEntry.waits < number || bits ^ ListenerEntry.plainWaiter < number else {
                        return false
                    }
                    return listener.certainMailbox.borrow { mailbox in
                        guard mailbox.laneReference?.address == Unretained(self).address,
                            mailbox.mayEnqueueUnseen(for: listener, from: frame.pointee.isolation),
                            !mailbox.state.isDead, state.hasRoom(depth: depth)
                        else { return false }
                        if add(message, listener, mailbox, isOwn: false, depth) { startsDrain = true }
                        return true
                    }
                }
                guard isIn else { break }
                frame.pointee.listener = entry
                count += 1
            }
        }
        if startsDrain { schedule() }
        if refused > 0 { reportRefused(refused, listener) }
        return count
    }

    /// Lets a message in, and adds its ticket. Under the lock.
    @inline(__always)
    private func add(
        _ message: MessageAddress,
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        isOwn: Bool,
        _ depth: UInt16
    ) -> Bool {
        let isFirst = mailbox.state.append(copying: message)
        return append(listener, mailbox, isFirst: isFirst, isOwn: isOwn, depth)
    }

    /// Whether the lane that makes the calling thread's call has too many messages to which calls have led.
    ///
    /// - Returns: 0, or how many posts and changes of states its calls have been refused since.
    @inline(never)
    static func refusalsOfCaller() -> Int {
        guard let lane = ThreadReference.current.pointee.lane else { return 0 }
        return lane.borrow { lane in
            guard lane.isExhausted else { return 0 }
            lane.refused += 1
            return lane.refused
        }
    }

    /// A listener has not been given a message, because too many wait to which calls have led. The lane that made
    /// the call from which it was posted has no room from here on, either: otherwise a loop through two lanes would
    /// go on in the one while the other recovers.
    @inline(never)
    func reportRefused(_ count: Int, _ listener: ListenerEntry) {
        if let lane = ThreadReference.current.pointee.lane { lane.borrow { $0.exhaust() } }
        listener.list?.reportFanOut(listener, count: count)
    }

    /// By the drain.
    private func exhaust() {
        guard !isExhausted else { return }
        lock.withLock { state.exhaust() }
        (isExhausted, refused) = (true, 0)
    }

    /// Whether a post of this isolation is made on the lane's actor. One without isolation is, too, on the main
    /// thread if that is the lane's actor, and in a call that the drain makes or a post with the actor's isolation.
    @inline(__always)
    func isOwn(_ isolation: UInt, _ thread: ThreadReference) -> Bool {
        guard actorAddress != 0, isolation != actorAddress else { return actorAddress != 0 }
        guard isolation == 0 else { return false }
        return isMain && channels_is_main_thread()
            || (thread.pointee.lane != nil || thread.pointee.top != nil) && isInOwnCall(thread)
    }

    @inline(never)
    private func isInOwnCall(_ thread: ThreadReference) -> Bool {
        if thread.pointee.lane?.address == Unretained(self).address { return true }
        var frame = thread.pointee.top
        while let post = frame {
            if post.pointee.isolation == actorAddress { return true }
            frame = post.pointee.previous
        }
        return false
    }

    /// Adds the ticket of a message that a mailbox has let in. Under the lock.
    ///
    /// - Parameter isFirst: Whether it is the listener's only one.
    /// - Returns: Whether the caller must then call ``schedule()``.
    @inline(__always)
    func append(
        _ listener: ListenerEntry,
        _ mailbox: Mailbox,
        isFirst: Bool,
        isOwn: Bool,
        _ depth: UInt16
    ) -> Bool {
        if isFirst { mailbox.isBusy.store(true, ordering: .releasing) }
        if mailbox.state.letIn & (Self.messagesPerLook - 1) == 0 { lookForOwner(of: listener, mailbox) }
        let poster = isOwn ? addOwn(mailbox) : 0
        arrived.store(arrived.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        let cost = depth > 2 && !mailbox.takesAll ? depth | LaneState.free : depth
        return state.append(Unretained(listener), mailbox.state.letIn &- 1, from: poster, depth: cost)
    }

    /// Posts do not look at the owner of a listener for which messages wait, and the drain may not come to it for
    /// long: its actor is busy, or its queue suspended. So a job looks, if many wait. Under the lock, where a weak
    /// reference must not be loaded: the owner may be released then.
    @inline(never)
    private func lookForOwner(of listener: ListenerEntry, _ mailbox: Mailbox) {
        guard listener.hasOwner, mailbox.state.incoming.count >= Self.messagesPerLook else { return }
        DispatchQueue.global().async { if listener.isOrphan { listener.list?.cancel(listener) } }
    }

    @inline(never)
    private func addOwn(_ mailbox: Mailbox) -> UInt16 {
        ownWaiting.wrappingAdd(1, ordering: .relaxed)
        mailbox.state.countOwn()
        return state.ownPosters.add(poster)
    }
}
