// Delivery: one message on its way through a list, on the poster's thread.
//
// `post` makes a `PostFrame` on the stack; `begin` decides whether it runs now (`+Reentrancy`); `withPost`
// makes it the thread's innermost post and enters the list; `deliver` runs the interceptors (`+Intercept`)
// and walks the chain. A plain listener is called in that loop. `deliverSlow` calls others or passes the
// message to their mailbox (Lanes) or another list (`Forwarder`); `deliverWithChecks` handles every case.
// `PostTracker` counts awaited listeners. This floor and Lanes know each other; floors above pass in a
// `Post`.

internal import Synchronization

extension ListenerList {
    /// Delivers a message, which is only read, to every listener registered now. Returns how many were called
    /// or enqueued.
    @usableFromInline @discardableResult
    func post(_ message: MessageAddress, _ post: Post) -> Int {
        if isMetered { return postMetered(message, post) }
        // A post deferred on a queued channel is delivered to those who listen when its turn comes.
        if head.load(ordering: .acquiring) == 0, !reentrancy.isQueued { return 0 }
        return postToListeners(message, post)
    }

    /// Separate, so that a post without listeners makes no frame.
    @inline(never)
    private func postToListeners(_ message: MessageAddress, _ post: Post) -> Int {
        var frame = PostFrame(self, message, post)
        defer { frame.end() }
        return frame.lend { postUnmetered($0) }
    }

    /// Inlined where most posts are made: the loop over the listeners then needs fewer registers.
    @inline(__always)
    private func postUnmetered(_ frame: FrameReference) -> Int {
        let thread = ThreadReference.current
        if let refused = begin(frame, thread) { return refused }
        let reached = withPost(frame, thread) { deliver(frame) }
        if frame.pointee.hasQueue { deliverQueued(frame) }
        return reached
    }

    /// Delivers the message of a frame, on a channel that delivers one message after the other, to one
    /// listener or to all those that are old enough.
    @inline(__always)
    func postTurn(_ frame: FrameReference, onlyTo only: ListenerEntry?) {
        if let only {
            // The other listeners of its lane have already received the value.
            guard only.number < frame.pointee.number else { return }
            _ = withPost(frame, .current) { deliverWithChecks(frame, only) }
        } else if isMetered {
            _ = deliverMetered(frame)
        } else {
            _ = withPost(frame, .current) { deliverToListeners(frame) }
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
        // May free closures. Posts by their deinits are nested in this one, or wait on a queued channel.
        leave(thread)
        thread.pointee.top = frame.pointee.previous
        return result
    }
}

extension ListenerList {
    /// Runs the interceptors and delivers to the listeners registered now. The caller has entered the list.
    @inline(__always)
    func deliver(_ frame: FrameReference) -> Int {
        frame.pointee.number = nextNumber.load(ordering: .sequentiallyConsistent)
        return interceptorCount.load(ordering: .acquiring) > 0 ? interceptAndDeliver(frame) : deliverToListeners(frame)
    }

    /// Delivers to the listeners that are old enough. The caller has entered the list.
    @inline(__always)
    func deliverToListeners(_ frame: FrameReference) -> Int {
        let message = frame.pointee.message
        // With 0 every listener takes the slow path.
        let limit = frame.pointee.slowPath == .none ? frame.pointee.number : 0
        var reached = 0
        walk { entry in
            entry.borrow { listener in
                let word = listener.word.load(ordering: .acquiring)
                if word < limit {
                    frame.pointee.listener = entry
                    listener.body.callBare(message)
                    reached &+= 1
                } else if word ^ ListenerEntry.owned < limit {
                    // Retained during the call.
                    if let owner = listener.retainedOwner {
                        frame.pointee.listener = entry
                        listener.body.callBare(message, owner: OwnerReference(owner))
                        reached &+= 1
                        owner.release()
                    } else {
                        endOrphan(listener)
                    }
                } else if word & ListenerEntry.adapts != 0, word & ~ListenerEntry.adapts < limit {
                    frame.pointee.listener = entry
                    if listener.certainAdaptor.borrow({ $0.includes(message) }) {
                        reached &+= adaptAndCall(frame, listener)
                    }
                } else {
                    let count = deliverSlow(frame, listener)
                    reached &+= count
                    if count > 1 { return frame.pointee.listener }
                }
                return entry
            }
        }
        return reached
    }

    /// Delivers as ``deliverToListeners(_:)`` does where every listener takes the slow path, as while calls are
    /// counted.
    @inline(never)
    func deliverSlowToAll(_ frame: FrameReference) -> Int {
        var reached = 0
        walk { entry in
            // One at a time: several are reached at once only by a post that needs no more.
            reached &+= entry.borrow { deliverSlow(frame, $0) }
            return entry
        }
        return reached
    }

    /// Removes a listener whose owner is deallocated. A function of its own, so that the loop has the registers.
    @inline(never)
    private func endOrphan(_ listener: ListenerEntry) { cancel(listener) }

    /// Delivers to a listener that is not a plain, uncounted closure called on the poster's thread, or to any
    /// listener if the post needs more. Returns how many it reached, which may include some of those that
    /// follow. If there is more than one, the frame names the last as its listener.
    @inline(never)
    func deliverSlow(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        guard word & ListenerEntry.number < frame.pointee.number else { return 0 }
        let treatment = word & ListenerEntry.treatment
        guard frame.pointee.slowPath != .all else { return deliverWithChecks(frame, listener) }
        if treatment == 0 || treatment == ListenerEntry.counted { return call(frame, listener, word) }
        guard frame.pointee.slowPath == .none else { return deliverWithChecks(frame, listener) }
        if treatment == ListenerEntry.waits {
            // The bit says that there is one.
            let mailbox = listener.certainMailbox
            if mailbox.borrow({ $0.home }) != frame.pointee.isolation {
                // While a drain is due, it checks the owner: a weak load for each message would cost more
                // than everything else. If `isBusy` is outdated, the message starts one.
                if word & ListenerEntry.owned == 0 || mailbox.borrow({ $0.isBusy }) {
                    return enqueue(frame, listener, mailbox)
                }
            } else if !mailbox.borrow({ $0.certainLane }).borrow({ $0.isActive.load(ordering: .acquiring) }) {
                return call(frame, listener, word)
            }
        } else if treatment == ListenerEntry.forwards {
            return forward(frame, listener)
        }
        return deliverWithChecks(frame, listener)
    }

    /// Calls a bare listener without an owner that needs no other treatment than its adaptor, whose filter lets the
    /// message pass.
    @inline(never)
    private func adaptAndCall(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let reached = listener.certainAdaptor.borrow { adaptor in
            adaptor.runIncluded(frame.pointee.message, frame) { message in
                // The adaptor may have cancelled the listener.
                guard !listener.isCancelled else { return 0 }
                listener.body.callBare(message)
                return 1
            }
        }
        endReaders(of: listener)
        return reached
    }

    /// Delivers what the adaptor of a listener makes of the message, unless that skips it.
    private func adapt(_ frame: FrameReference, _ listener: ListenerEntry, _ deliver: () -> Int) -> Int {
        // For those who end the listener, and for the site of a fault.
        frame.pointee.beginCall(of: listener)
        frame.pointee.hasEndedListener = false
        defer { frame.pointee.hasEndedListener = false }
        let message = frame.pointee.message
        let reached = listener.certainAdaptor.borrow { adaptor in
            adaptor.run(message, frame) { adapted in
                // The adaptor may have cancelled the listener.
                guard !listener.isCancelled else { return 0 }
                frame.pointee.message = adapted
                defer { frame.pointee.message = message }
                return deliver()
            }
        }
        endReaders(of: listener)
        return reached
    }

    /// Tells those who read messages of a listener that its adaptor has ended.
    @inline(__always)
    private func endReaders(of listener: ListenerEntry) {
        if listener.hasEnded { listener.counters?.borrow { $0.nothingFollows() } }
    }

    /// Hands a message to a mailbox, and to those of some of the listeners that follow and hear by the same lane.
    @inline(never)
    private func enqueue(_ frame: FrameReference, _ listener: ListenerEntry, _ mailbox: Unretained<Mailbox>) -> Int {
        mailbox.borrow { mailbox in
            guard mailbox.isUnbounded, !frame.pointee.carriesMore else {
                return mailbox.enqueue(frame, for: listener) ? 1 : 0
            }
            let message = frame.pointee.message
            guard let lane = mailbox.laneReference else { return mailbox.enqueueToRead(message, for: listener) ? 1 : 0 }
            return lane.borrow { lane in
                listener.next.load(ordering: .relaxed) == 0
                    ? lane.enqueue(message, listener, mailbox) : lane.enqueueForSeveral(frame, listener, mailbox)
            }
        }
    }

    /// Calls a listener that needs no treatment except counting, if its owner is alive.
    @inline(__always)
    private func call(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        word & ListenerEntry.owned == 0
            ? callUnowned(frame, listener, word) : callOwned(frame, listener, word)
    }

    @inline(never)
    private func callUnowned(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        frame.pointee.beginCall(of: listener)
        countCall(of: listener, word)
        listener.body.call(frame.pointee.message, nil, frame, isBare: word & ListenerEntry.general == 0)
        return 1
    }

    /// Separate, because it needs more registers.
    @inline(never)
    private func callOwned(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        // Retained during the call.
        guard let owner = listener.retainedOwner else {
            endOrphan(listener)
            return 0
        }
        frame.pointee.beginCall(of: listener)
        countCall(of: listener, word)
        listener.body.call(
            frame.pointee.message,
            OwnerReference(owner),
            frame,
            isBare: word & ListenerEntry.general == 0
        )
        owner.release()
        return 1
    }

    /// Counts a call on the poster's thread, if the listener has counters.
    @inline(__always)
    func countCall(of listener: ListenerEntry, _ word: UInt64) {
        listener.counters?.borrow { counters in
            // On its actor, or in turns, there is one call at a time.
            let isAlone = word & (ListenerEntry.waits | ListenerEntry.counted) != 0
            if isAlone { counters.countLoneCall() } else { counters.countDirectCall() }
        }
    }

    /// Delivers to a listener that is old enough, after every check: whether it has ended, is paused,
    /// excluded or `once`, whether its owner is alive, and what travels with the message.
    @inline(never)
    func deliverWithChecks(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        guard word & (ListenerEntry.ended | ListenerEntry.intercepts) == 0 else { return 0 }
        let owner = listener.owner
        if word & ListenerEntry.owned != 0 {
            guard let owner else {
                endOrphan(listener)
                return 0
            }
            guard !frame.pointee.excludes(Unretained(owner)) else { return 0 }
        }
        guard word & ListenerEntry.paused == 0 else {
            listener.counters?.borrow { $0.countMissed() }
            return 0
        }
        defer { withExtendedLifetime(owner) {} }
        guard word & ListenerEntry.adapts != 0 else { return deliverChecked(frame, listener, owner, word) }
        return adapt(frame, listener) { deliverChecked(frame, listener, owner, word) }
    }

    /// Delivers to a listener that is to hear the message.
    ///
    /// - Parameter owner: Held until the call has ended.
    @inline(__always)
    private func deliverChecked(
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ owner: AnyObject?,
        _ word: UInt64
    ) -> Int {
        if word & ListenerEntry.once != 0 {
            // An adaptor that ended the listener with this message, as `prefix(1)` does, still lets it hear it.
            guard frame.pointee.hasEndedListener || remove(listener, as: ListenerEntry.closed) else { return 0 }
        }
        if let mailbox = listener.mailbox, !mailbox.mayCall(from: frame.pointee.isolation, listener) {
            let isIn = mailbox.enqueue(frame, for: listener)
            if isMetered { mailbox.noteWaiting() }
            return isIn ? 1 : 0
        }
        countCall(of: listener, word)
        // The listener of the pattern is counted and waited for.
        if listener.isForwarder { return forward(frame, listener) }
        frame.pointee.beginCall(of: listener)
        // Held until after the call.
        let reference = owner.map { OwnerReference($0) }
        let (message, envelope) = (frame.pointee.message, frame.pointee.envelope)
        envelope?.tracker?.expectOne()
        if envelope?.tracker != nil { frame.pointee.thrown = nil }
        run(listener, message, reference, frame, envelope?.trace)
        envelope?.tracker?.finish(frame.pointee.outcome(for: listener))
        return 1
    }
}
