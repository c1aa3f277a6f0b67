internal import Synchronization

extension ListenerList {
    /// Walks the chain in the order of delivery. The caller has entered the list, so no entry in reach is
    /// freed, and none is retained.
    ///
    /// - Parameter body: Returns the entry after which to continue; nil to stop.
    @inline(__always)
    func walk(_ body: (Unretained<ListenerEntry>) -> Unretained<ListenerEntry>?) {
        var address = head.load(ordering: .sequentiallyConsistent)
        while let entry = Unretained<ListenerEntry>(address: address), let last = body(entry) {
            address = last.borrow { $0.next.load(ordering: .sequentiallyConsistent) }
        }
    }

    /// Runs the interceptors and delivers to the listeners registered now. The caller has entered the list.
    @inline(__always)
    func deliver(_ frame: FrameReference) -> Int {
        frame.pointee.number = nextNumber.load(ordering: .sequentiallyConsistent)
        return interceptorCount.load(ordering: .acquiring) > 0 ? interceptAndDeliver(frame) : deliverToListeners(frame)
    }

    /// Delivers to the listeners that are old enough. The caller has entered the list.
    ///
    /// One comparison says that a listener needs nothing but its call, or its call with its owner, or after its
    /// adaptor: another bit than that one makes the word larger than every number. All others go by
    /// ``deliverByRoute(_:_:)``.
    @inline(__always)
    func deliverToListeners(_ frame: FrameReference) -> Int {
        let message = frame.pointee.message
        // With 0, every listener goes by its route.
        let limit = frame.pointee.checksAll ? 0 : frame.pointee.number
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
                    if let owner = listener.retainOwner() {
                        frame.pointee.listener = entry
                        listener.body.callBare(message, owner: OwnerReference(owner), frame)
                        reached &+= 1
                        owner.release()
                    } else {
                        endOrphan(listener)
                    }
                } else if word ^ ListenerEntry.adapted < limit {
                    frame.pointee.listener = entry
                    if listener.knownAdaptor.borrow({ $0.includes(message) }) {
                        reached &+= adaptAndCall(frame, listener)
                    }
                } else {
                    frame.pointee.listener = entry
                    reached &+= deliverByRoute(frame, listener)
                    // The last one that the message has been delivered to.
                    return frame.pointee.listener
                }
                return entry
            }
        }
        return reached
    }

    /// Removes a listener whose owner is deallocated. A function of its own, so that the loop has the registers.
    @inline(never)
    private func endOrphan(_ listener: ListenerEntry) { cancel(listener) }

    /// Whether a listener is to receive the message of a frame: the one place that asks. Ends it if its owner was
    /// deallocated.
    ///
    /// What says in its word alone that nothing has to be asked is not brought here.
    /// - Parameter owner: Of the listener, held by the caller; nil if it has none, or that was deallocated.
    @inline(__always)
    func mayReceive(
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ word: UInt64,
        _ owner: Unretained<AnyObject>?
    ) -> Bool {
        guard word & ListenerEntry.ended == 0, word & ListenerEntry.number < frame.pointee.number else { return false }
        if word & ListenerEntry.owned != 0 {
            guard let owner else {
                endOrphan(listener)
                return false
            }
            guard !frame.pointee.excludes(owner) else { return false }
        }
        guard word & ListenerEntry.paused == 0 else {
            listener.route?.borrow { $0.countMissed() }
            return false
        }
        return true
    }

    /// Delivers to a listener that is not a plain, uncounted closure called on the poster's thread, or to any
    /// listener if the post needs more. Returns how many it reached, which may include some of those that
    /// follow. The frame, which names this one as its listener, then names the last of them.
    @inline(never)
    func deliverByRoute(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        guard word & ListenerEntry.number < frame.pointee.number else { return 0 }
        guard !frame.pointee.checksAll else { return deliverWithChecks(frame, listener) }
        let routing = word & ListenerEntry.routing
        if routing & ~ListenerEntry.counted == 0 { return call(frame, listener, word) }
        switch routing {
        case ListenerEntry.forwarding: return forward(frame, listener)
        case ListenerEntry.read:
            // While messages wait, the reader checks the owner, as below.
            if word & ListenerEntry.owned == 0 || listener.knownSequence.borrow({ $0.isBusy }) {
                return enqueue(frame, listener, word, alone: false)
            }
        case ListenerEntry.laned:
            let mailbox = listener.knownMailbox
            if mailbox.borrow({ $0.home }) != frame.pointee.isolation {
                // While a drain is due, it checks the owner: a weak load for each message would cost more
                // than everything else. If `isBusy` is outdated, the message starts one.
                if word & ListenerEntry.owned == 0 || mailbox.borrow({ $0.isBusy }) {
                    return enqueue(frame, listener, word, alone: false)
                }
            } else if !mailbox.borrow({ $0.isBusy }) {
                return call(frame, listener, word)
            }
        default: break
        }
        return deliverWithChecks(frame, listener)
    }

    /// Delivers to a listener, which the frame names, if it is to receive the message.
    @inline(never)
    func deliverWithChecks(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let word = listener.word.load(ordering: .acquiring)
        // Held until the call has ended. A weak reference to nothing is not loaded.
        let owner = word & ListenerEntry.owned == 0 ? nil : listener.owner
        defer { withExtendedLifetime(owner) {} }
        guard word & ListenerEntry.intercepting == 0, mayReceive(frame, listener, word, owner.map { Unretained($0) })
        else { return 0 }
        guard word & ListenerEntry.adapted != 0 else {
            return deliverChecked(frame, listener, owner, word, isLast: false)
        }
        let message = frame.pointee.message
        guard listener.knownAdaptor.borrow({ $0.includes(message) }) else { return 0 }
        return adapt(message, frame, listener) { adapted, isLast in
            // The adaptor may have cancelled the listener.
            guard !listener.isCancelled else { return .skipped }
            frame.pointee.message = adapted
            defer { frame.pointee.message = message }
            let reached = deliverChecked(frame, listener, owner, word, isLast: isLast)
            return Adaptor.Outcome(reached: reached, isLast: isLast)
        }
    }

    /// Delivers to a listener that is to receive the message.
    /// - Parameters:
    ///   - owner: Held until the call has ended.
    ///   - isLast: Whether an adaptor ends the listener with this message.
    @inline(__always)
    private func deliverChecked(
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ owner: AnyObject?,
        _ word: UInt64,
        isLast: Bool
    ) -> Int {
        let isOnce = word & ListenerEntry.once != 0
        // Removed before it is called. Of several messages, one that hears once receives that which removes it.
        if isOnce || isLast, !remove(listener, as: ListenerEntry.closed), isOnce { return 0 }
        if word & (ListenerEntry.laned | ListenerEntry.read) != 0,
            let reached = enqueueUnlessCalled(frame, listener, word)
        {
            activeInstrument?.didEnqueue(for: listener)
            return reached
        }
        if isObserved { _ = listener.ensureRoute() }
        countCall(of: listener, word)
        // The listener of the pattern is counted and waited for.
        if listener.isForwarder { return forward(frame, listener) }
        // Held until after the call.
        let reference = owner.map { OwnerReference($0) }
        let envelope = frame.pointee.envelope
        envelope?.tracker?.expectOne()
        listener.run(frame.pointee.message, reference, frame, envelope?.trace)
        envelope?.tracker?.finishCall(of: listener)
        return 1
    }

    /// Enqueues the message for a listener that cannot be called here; nil for one that can. Returns 0 if it has ended.
    @inline(never)
    private func enqueueUnlessCalled(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int? {
        let mayCall =
            word & ListenerEntry.laned != 0
            && listener.knownMailbox.borrow { $0.mayCall(from: frame.pointee.isolation, listener) }
        return mayCall ? nil : enqueue(frame, listener, word, alone: true)
    }

    /// Puts a message into the mailbox of a listener, and perhaps into those of some that follow, unless it is for this
    /// one `alone`. A function of its own, because one that ends with a call needs no frame.
    @inline(never)
    private func enqueue(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64, alone: Bool) -> Int {
        word & ListenerEntry.read != 0
            ? listener.knownSequence.borrow { $0.enqueue(frame, for: listener) }
            : listener.knownMailbox.borrow { mailbox in
                guard mailbox.isUnbounded, !frame.pointee.carriesMore else { return mailbox.offer(frame, to: listener) }
                return mailbox.laneReference.borrow { $0.enqueue(frame, listener, mailbox, alone: alone) }
            }
    }

    /// Calls a bare listener without an owner that needs no other treatment than its adaptor, whose filter lets the
    /// message pass.
    @inline(never)
    private func adaptAndCall(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        adapt(frame.pointee.message, frame, listener) { message, isLast in
            guard !isLast, !listener.isCancelled else { return listener.callLast(message) }
            listener.body.callBare(message)
            return .delivered
        }
    }

    /// Has the adaptor of a listener, whose filter lets the message pass, deliver what it makes of it.
    @inline(__always)
    private func adapt(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ deliver: Adaptor.Deliver
    ) -> Int {
        let outcome = listener.knownAdaptor.borrow { $0.runIncluded(message, frame, deliver) }
        // What waits is delivered.
        if outcome.contains(.ended) { listener.end() }
        return outcome.reached
    }

    /// Calls a listener that needs no treatment except counting, if its owner is alive.
    @inline(__always)
    private func call(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        word & ListenerEntry.owned == 0
            ? callUnowned(frame, listener, word) : callOwned(frame, listener, word)
    }

    @inline(never)
    private func callUnowned(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        countCall(of: listener, word)
        listener.body.call(frame.pointee.message, nil, frame, isBare: word & ListenerEntry.general == 0)
        return 1
    }

    /// Separate, because it needs more registers.
    @inline(never)
    private func callOwned(_ frame: FrameReference, _ listener: ListenerEntry, _ word: UInt64) -> Int {
        // Retained during the call.
        guard let owner = listener.retainOwner() else {
            endOrphan(listener)
            return 0
        }
        countCall(of: listener, word)
        let reference = OwnerReference(owner)
        listener.body.call(frame.pointee.message, reference, frame, isBare: word & ListenerEntry.general == 0)
        owner.release()
        return 1
    }

    /// Counts a call on the poster's thread, if it is counted.
    @inline(__always)
    func countCall(of listener: ListenerEntry, _ word: UInt64) {
        listener.route?.borrow { route in
            // On its actor, or in turns, there is one call at a time.
            let isAlone = word & (ListenerEntry.laned | ListenerEntry.counted) != 0
            if isAlone { route.countLoneCall() } else { route.countDirectCall() }
        }
    }
}

extension ListenerEntry {
    /// Calls a bare listener without an owner with the last message that it receives, unless the adaptor has cancelled
    /// it.
    @inline(never)
    fileprivate func callLast(_ message: MessageAddress) -> Adaptor.Outcome {
        guard !isCancelled else { return .skipped }
        end()
        body.callBare(message)
        return [.delivered, .ended]
    }
}
