internal import Synchronization

extension ListenerList {
    /// Walks the chain in the order of delivery. The caller has entered the list, so no entry within reach is freed,
    /// and none needs to be retained.
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
    /// Three comparisons find the listeners that only have to be called: plainly, with their owner, or through their
    /// adaptor. All others go through ``deliverByRoute(_:_:)``.
    @inline(__always)
    func deliverToListeners(_ frame: FrameReference) -> Int {
        let message = frame.pointee.message
        // A limit of 0 sends every listener to `deliverByRoute`.
        let limit = frame.pointee.checksAll ? 0 : frame.pointee.number
        var reached = 0
        walk { entry in
            entry.borrow { listener in
                let state = listener.state
                if state.isPlain(before: limit) {
                    frame.pointee.listener = entry
                    listener.body.callBare(message)
                    reached &+= 1
                } else if state.isPlainOwned(before: limit) {
                    // Retained during the call.
                    if let owner = listener.retainOwner() {
                        frame.pointee.listener = entry
                        listener.body.callBare(message, owner: OwnerReference(owner), frame)
                        reached &+= 1
                        owner.release()
                    } else {
                        endOrphan(listener)
                    }
                } else if state.isPlainAdapted(before: limit) {
                    frame.pointee.listener = entry
                    if listener.knownAdaptor.borrow({ $0.includes(message) }) {
                        reached &+= adaptAndCall(frame, listener)
                    }
                } else {
                    frame.pointee.listener = entry
                    reached &+= deliverByRoute(frame, listener)
                    // The last listener that the message was delivered to.
                    return frame.pointee.listener
                }
                return entry
            }
        }
        return reached
    }

    /// Removes a listener whose owner was deallocated. A separate function, so that the loop keeps its registers.
    @inline(never)
    private func endOrphan(_ listener: ListenerEntry) { cancel(listener) }

    /// Whether a listener is to receive the message of a frame. This is the one place that decides it. Ends the
    /// listener if its owner was deallocated.
    ///
    /// Listeners whose state alone shows that they receive the message do not come here.
    /// - Parameter owner: The listener's owner, held by the caller; nil if it has none, or if the owner was
    ///   deallocated.
    @inline(__always)
    func mayReceive(
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ state: ListenerState,
        _ owner: Unretained<AnyObject>?
    ) -> Bool {
        guard !state.hasEnded, state.isOld(before: frame.pointee.number) else { return false }
        if state.contains(.owned) {
            guard let owner else {
                endOrphan(listener)
                return false
            }
            guard !frame.pointee.excludes(owner) else { return false }
        }
        guard !state.contains(.paused) else {
            listener.route?.borrow { $0.countMissed() }
            return false
        }
        return true
    }

    /// Delivers to a listener that is not just a plain, uncounted closure called on the poster's thread, or to any
    /// listener if the post needs more. Returns how many listeners were reached, which may include some that follow.
    /// The frame names this listener when this is called, and the last one reached when it returns.
    @inline(never)
    func deliverByRoute(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let state = listener.state
        guard state.isOld(before: frame.pointee.number) else { return 0 }
        guard !frame.pointee.checksAll else { return deliverWithChecks(frame, listener) }
        let routing = state.routing
        if routing.subtracting(.counted) == .none { return call(frame, listener, state) }
        switch routing {
        case .forwarding: return forward(frame, listener)
        case .waitsForReader:
            // While messages wait, the reader checks the owner, as the drain does below.
            if !state.contains(.owned) || listener.knownSequence.borrow({ $0.isBusy }) {
                return enqueue(frame, listener, state, alone: false)
            }
        case .waitsInLane:
            let mailbox = listener.knownMailbox
            if mailbox.borrow({ $0.home }) != frame.pointee.isolation {
                // While a drain is due, the drain checks the owner: a weak load here, for each message, would cost more
                // than everything else. If `isBusy` is out of date, the message starts a new drain.
                if !state.contains(.owned) || mailbox.borrow({ $0.isBusy }) {
                    return enqueue(frame, listener, state, alone: false)
                }
            } else if !mailbox.borrow({ $0.isBusy }) {
                return call(frame, listener, state)
            }
        default: break
        }
        return deliverWithChecks(frame, listener)
    }

    /// Delivers to the listener that the frame names, if it is to receive the message.
    @inline(never)
    func deliverWithChecks(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let state = listener.state
        // Held until the call has ended. The weak reference is loaded only if there is an owner.
        let owner = state.contains(.owned) ? listener.owner : nil
        defer { withExtendedLifetime(owner) {} }
        guard !state.contains(.intercepting), mayReceive(frame, listener, state, owner.map { Unretained($0) })
        else { return 0 }
        guard state.contains(.adapted) else {
            return deliverChecked(frame, listener, owner, state, isLast: false)
        }
        let message = frame.pointee.message
        guard listener.knownAdaptor.borrow({ $0.includes(message) }) else { return 0 }
        return adapt(message, frame, listener) { adapted, isLast in
            // The adaptor may have cancelled the listener.
            guard !listener.isCancelled else { return .skipped }
            frame.pointee.message = adapted
            defer { frame.pointee.message = message }
            let reached = deliverChecked(frame, listener, owner, state, isLast: isLast)
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
        _ state: ListenerState,
        isLast: Bool
    ) -> Int {
        let isOnce = state.contains(.once)
        // Removed before it is called. Of several concurrent messages, a `once` listener receives the one that removes
        // it.
        if isOnce || isLast, !remove(listener, as: .closed), isOnce { return 0 }
        if state.waits, let reached = enqueueUnlessCalled(frame, listener, state) {
            activeInstrument?.didEnqueue(for: listener)
            return reached
        }
        if isObserved { _ = listener.ensureRoute() }
        countCall(of: listener, state)
        // The pattern's listener, not this entry, is counted and waited for.
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
    private func enqueueUnlessCalled(_ frame: FrameReference, _ listener: ListenerEntry, _ state: ListenerState) -> Int?
    {
        let mayCall =
            state.contains(.waitsInLane)
            && listener.knownMailbox.borrow { $0.mayCall(from: frame.pointee.isolation, listener) }
        return mayCall ? nil : enqueue(frame, listener, state, alone: true)
    }

    /// Puts a message into a listener's mailbox and, unless it is for this listener `alone`, perhaps into the mailboxes
    /// of listeners that follow. A separate function, because one that ends with a call needs no stack frame.
    @inline(never)
    private func enqueue(_ frame: FrameReference, _ listener: ListenerEntry, _ state: ListenerState, alone: Bool) -> Int
    {
        state.contains(.waitsForReader)
            ? listener.knownSequence.borrow { $0.enqueue(frame, for: listener) }
            : listener.knownMailbox.borrow { mailbox in
                guard mailbox.isUnbounded, !frame.pointee.carriesMore else { return mailbox.offer(frame, to: listener) }
                return mailbox.laneReference.borrow { $0.enqueue(frame, listener, mailbox, alone: alone) }
            }
    }

    /// Calls a bare listener that has no owner and needs nothing but its adaptor. The adaptor's first filter has let
    /// the message pass.
    @inline(never)
    private func adaptAndCall(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        adapt(frame.pointee.message, frame, listener) { message, isLast in
            guard !isLast, !listener.isCancelled else { return listener.callLast(message) }
            listener.body.callBare(message)
            return Adaptor.Outcome(reached: 1, isLast: false)
        }
    }

    /// Lets a listener's adaptor deliver what it makes of the message. The adaptor's first filter has let the message
    /// pass.
    @inline(__always)
    private func adapt(
        _ message: MessageAddress,
        _ frame: FrameReference,
        _ listener: ListenerEntry,
        _ deliver: Adaptor.Deliver
    ) -> Int {
        let outcome = listener.knownAdaptor.borrow { $0.runIncluded(message, frame, deliver) }
        // Messages that wait are still delivered.
        if outcome.isLast { listener.end() }
        return outcome.reached
    }

    /// Calls a listener that needs nothing but to be counted, if its owner is alive.
    @inline(__always)
    private func call(_ frame: FrameReference, _ listener: ListenerEntry, _ state: ListenerState) -> Int {
        state.contains(.owned) ? callOwned(frame, listener, state) : callUnowned(frame, listener, state)
    }

    @inline(never)
    private func callUnowned(_ frame: FrameReference, _ listener: ListenerEntry, _ state: ListenerState) -> Int {
        countCall(of: listener, state)
        listener.body.call(frame.pointee.message, nil, frame, isBare: !state.contains(.general))
        return 1
    }

    /// Separate, because it needs more registers.
    @inline(never)
    private func callOwned(_ frame: FrameReference, _ listener: ListenerEntry, _ state: ListenerState) -> Int {
        // Retained during the call.
        guard let owner = listener.retainOwner() else {
            endOrphan(listener)
            return 0
        }
        countCall(of: listener, state)
        let reference = OwnerReference(owner)
        listener.body.call(frame.pointee.message, reference, frame, isBare: !state.contains(.general))
        owner.release()
        return 1
    }

    /// Counts a call on the poster's thread, if it is counted.
    @inline(__always)
    func countCall(of listener: ListenerEntry, _ state: ListenerState) {
        listener.route?.borrow { route in
            if state.isCalledAlone { route.countLoneCall() } else { route.countDirectCall() }
        }
    }
}

extension ListenerEntry {
    /// Calls a bare listener without an owner with its last message, unless the adaptor has cancelled it.
    @inline(never)
    fileprivate func callLast(_ message: MessageAddress) -> Adaptor.Outcome {
        guard !isCancelled else { return .skipped }
        end()
        body.callBare(message)
        return Adaptor.Outcome(reached: 1, isLast: true)
    }
}
