internal import Synchronization

extension ListenerList {
    /// Hands a message to every listener registered now.
    ///
    /// - Parameter message: The message's address. It is only read: interceptors are asked about a copy.
    /// - Returns: How many listeners were called or enqueued.
    @usableFromInline
    func post(_ message: UnsafeMutableRawPointer, from sender: AnyObject?, echo: Bool, isolation: (any Actor)?) -> Int {
        if head.load(ordering: .acquiring) == 0, interceptorHead.load(ordering: .relaxed) == 0, counter == nil { return 0 }
        var frame = PostFrame(list: self, sender: sender, echo: echo, isolation: isolation)
        defer { frame.end() }
        return withUnsafeMutablePointer(to: &frame) { post(message, in: $0) }
    }

    /// The same, for a post with which more travels than the message.
    @discardableResult
    func post(
        _ message: UnsafeMutableRawPointer,
        from sender: AnyObject?,
        echo: Bool,
        isolation: (any Actor)?,
        envelope: Envelope
    ) -> Int {
        var frame = PostFrame(list: self, sender: sender, echo: echo, isolation: isolation, envelope: envelope)
        defer { frame.end() }
        return withUnsafeMutablePointer(to: &frame) { post(message, in: $0) }
    }

    func post(_ message: UnsafeMutableRawPointer, in frame: PostFrame.Pointer) -> Int {
        let thread = ThreadRecord.current
        if let top = thread.pointee.top {
            if let refused = admit(message, frame, nestedIn: top, thread) { return refused }
        }
        if let counter { counter.posts.wrappingAdd(1, ordering: .relaxed) }
        let reached = goRound(message, frame, thread)
        if let queue = frame.pointee.queue {
            while let (depth, deliver) = queue.next() { deliver(depth, queue) }
        }
        return reached
    }

    /// Delivers to the listeners registered before a number, or to one of them, for a channel that keeps its posts in a queue of its own.
    func post(
        _ message: UnsafeMutableRawPointer,
        isolation: (any Actor)?,
        before number: UInt64,
        onlyTo only: ListenerEntry?,
        envelope: Envelope? = nil
    ) {
        var frame = PostFrame(list: self, sender: nil, echo: true, isolation: isolation, envelope: envelope)
        defer { frame.end() }
        if let counter, only == nil { counter.posts.wrappingAdd(1, ordering: .relaxed) }
        withUnsafeMutablePointer(to: &frame) { frame in
            let thread = ThreadRecord.current
            frame.pointee.previous = thread.pointee.top
            thread.pointee.top = frame
            enter(thread)
            if let only {
                _ = deliverWithCare(message, frame, only, before: number)
            } else {
                _ = deliver(message, frame, before: number)
            }
            leave(thread)
            thread.pointee.top = frame.pointee.previous
        }
    }

    /// Makes the frame the innermost post of the thread while the message goes round.
    @inline(__always)
    func goRound(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer, _ thread: ThreadRecord.Pointer) -> Int {
        frame.pointee.previous = thread.pointee.top
        thread.pointee.top = frame
        enter(thread)
        let reached = deliver(message, frame)
        // Leaving may free closures. What is posted while they go is posted inside this post, and waits where others wait for it to end.
        leave(thread)
        thread.pointee.top = frame.pointee.previous
        return reached
    }

    /// Announces that the thread reads this list: until `leave`, no entry that it can reach is freed.
    @inline(__always)
    func enter(_ thread: ThreadRecord.Pointer) {
        let depth = thread.pointee.depth
        thread.pointee.depth = depth + 1
        if isLocal {
            localPosts += 1
            return
        }
        let group = thread.pointee.group
        // Before the slot is set: a canceller that does not see the bit comes before this post, which then sees what was taken out.
        if posters.load(ordering: .acquiring) & group == 0 { posters.bitwiseOr(group, ordering: .sequentiallyConsistent) }
        let slot = thread.pointee.slots + depth
        if depth >= thread.pointee.used.load(ordering: .relaxed) {
            precondition(depth < ThreadRecord.slotCount, "too many nested uses of channels on one thread")
            thread.pointee.used.store(depth + 1, ordering: .sequentiallyConsistent)
        }
        slot.pointee.sequence.store(slot.pointee.sequence.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        // A full barrier: whoever takes an entry out from here on sees this post, or this post sees that it is out.
        _ = slot.pointee.list.exchange(address, ordering: .sequentiallyConsistent)
    }

    @inline(__always)
    func leave(_ thread: ThreadRecord.Pointer) {
        let depth = thread.pointee.depth - 1
        thread.pointee.depth = depth
        if isLocal {
            localPosts -= 1
        } else if !thread.pointee.endsWithBarrier {
            (thread.pointee.slots + depth).pointee.list.store(0, ordering: .releasing)
        } else {
            _ = (thread.pointee.slots + depth).pointee.list.exchange(0, ordering: .sequentiallyConsistent)
        }
        if hasRetired.load(ordering: .sequentiallyConsistent) { collectAfterPost() }
    }

    /// What is looked at before a message may be enqueued unseen: whether it is the listener's only one, and for whom it is.
    private static var needsOwner: UInt64 { ListenerEntry.once | ListenerEntry.forwards }

    /// Walks the chain of listeners. The caller has entered the list.
    @inline(__always)
    private func deliver(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer) -> Int {
        let number = nextNumber.load(ordering: .sequentiallyConsistent)
        if interceptorHead.load(ordering: .sequentiallyConsistent) != 0 { return interceptAndDeliver(message, frame, before: number) }
        return deliver(message, frame, before: number)
    }

    /// Asks the interceptors and, where they let the message pass, delivers it: on a copy, which they may replace.
    @inline(never)
    private func interceptAndDeliver(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer, before number: UInt64) -> Int {
        withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { buffer in
            // Not empty, see above.
            let copy = buffer.baseAddress.unsafelyUnwrapped
            layout.copy(from: message, to: copy)
            defer { layout.destroy(copy) }
            return intercept(copy, frame, before: number) ? deliver(copy, frame, before: number) : 0
        }
    }

    /// Delivers to the listeners registered before a number. The caller has entered the list.
    @inline(__always)
    func deliver(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer, before number: UInt64) -> Int {
        // With 0 every listener takes the way around.
        let limit = frame.pointee.takesCare ? 0 : number
        var reached = 0
        var address = head.load(ordering: .sequentiallyConsistent)
        while let entry = Unmanaged<ListenerEntry>.at(address) {
            // Entered: no entry that this walk can reach is freed before it ends, so none needs a retain.
            entry._withUnsafeGuaranteedRef { listener in
                let word = listener.word.load(ordering: .acquiring)
                if word < limit {
                    frame.pointee.listener = entry
                    withUnsafePointer(to: listener.body) { $0.callBare(message) }
                    reached &+= 1
                } else if word ^ ListenerEntry.owned < limit {
                    // Retained for the call, and released behind it.
                    if var owner = listener.owner.map({ Unmanaged.passRetained($0) }) {
                        frame.pointee.listener = entry
                        // The body reads the reference at the address.
                        withUnsafeMutablePointer(to: &owner) { owner in
                            withUnsafePointer(to: listener.body) { $0.callBare(message, owner: UnsafeMutableRawPointer(owner)) }
                        }
                        reached &+= 1
                        owner.release()
                    } else {
                        remove(listener)
                    }
                } else if deliverWithCare(message, frame, listener, before: number) {
                    reached &+= 1
                }
                address = listener.next.load(ordering: .sequentiallyConsistent)
            }
        }
        return reached
    }

    /// Delivers to one listener that is not simply called: too new, paused, removed, excluded, counted, once, or with a mailbox.
    @inline(never)
    func deliverWithCare(
        _ message: UnsafeMutableRawPointer,
        _ frame: PostFrame.Pointer,
        _ listener: ListenerEntry,
        before number: UInt64
    ) -> Bool {
        let word = listener.word.load(ordering: .acquiring)
        if (word & ~ListenerEntry.owned) ^ ListenerEntry.special < number, !frame.pointee.takesCare, let mailbox = listener.mailboxReference {
            let mayCall = mailbox._withUnsafeGuaranteedRef { $0.isFree(for: frame.pointee.isolation) }
            if mayCall { return callAlone(listener, message, frame) }
        }
        guard word & (ListenerEntry.ended | ListenerEntry.paused) == 0, word & ListenerEntry.number < number else { return false }
        if word & Self.needsOwner == 0, !frame.pointee.takesCare, let mailbox = listener.mailboxReference {
            // Its drain is under way and finds out whether the owner is still there: a weak load for each message would cost more than
            // all the rest. `isBusy` may be outdated; then the message starts a drain, as any other. The entry holds the mailbox.
            let outcome = mailbox._withUnsafeGuaranteedRef { mailbox -> Bool? in
                guard mailbox.isBusy.load(ordering: .relaxed) else { return nil }
                return mailbox.isUnbounded && !frame.pointee.carriesMore
                    ? mailbox.enqueueAlone(message, for: listener) : mailbox.enqueue(message, frame, for: listener)
            }
            if let outcome { return outcome }
        }
        let owner = listener.owner
        if word & ListenerEntry.owned != 0 {
            guard let owner else {
                remove(listener)
                return false
            }
            guard frame.pointee.excluded != UnsafeRawPointer(addressOf: owner) else { return false }
        }
        if word & ListenerEntry.once != 0 {
            guard remove(listener, as: ListenerEntry.closed) else { return false }
        }
        defer { withExtendedLifetime(owner) {} }
        if let mailbox = listener.mailbox {
            guard mailbox.mayCall(from: frame.pointee.isolation, owner: owner) else {
                return mailbox.enqueue(message, frame, for: listener)
            }
            mailbox.countDirectCall()
        }
        guard word & ListenerEntry.forwards == 0 else {
            // Whoever is forwarded to counts, and is waited for, there.
            frame.pointee.forwardedTo = 0
            listener.run(message, nil, frame)
            return frame.pointee.forwardedTo > 0
        }
        call(listener, message, owner, frame)
        return true
    }

    /// Calls a listener on the current thread and, if somebody waits for the post, reports how it went.
    func call(_ listener: ListenerEntry, _ message: UnsafeMutableRawPointer, _ owner: AnyObject?, _ frame: PostFrame.Pointer) {
        frame.pointee.begins(listener)
        // The caller holds the owner.
        let address = owner.map { UnsafeRawPointer(addressOf: $0) }
        guard let tracker = frame.pointee.envelope?.tracker else {
            listener.run(message, address, frame)
            return
        }
        frame.pointee.thrown = nil
        tracker.expectOne()
        listener.run(message, address, frame)
        tracker.finish(frame.pointee.outcome(for: listener))
    }

    /// Calls a listener with a plain body, whose mailbox is free for this post and with which nothing else is the matter.
    @inline(__always)
    private func callAlone(_ listener: ListenerEntry, _ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer) -> Bool {
        frame.pointee.begins(listener)
        guard listener.hasOwner else {
            listener.mailboxReference?._withUnsafeGuaranteedRef { $0.countLoneCall() }
            withUnsafePointer(to: listener.body) { $0.callBare(message) }
            return true
        }
        // Retained for the call, and released behind it.
        guard var owner = listener.owner.map({ Unmanaged.passRetained($0) }) else {
            remove(listener)
            return false
        }
        listener.mailboxReference?._withUnsafeGuaranteedRef { $0.countLoneCall() }
        // The body reads the reference at the address.
        withUnsafeMutablePointer(to: &owner) { owner in
            withUnsafePointer(to: listener.body) { $0.callBare(message, owner: UnsafeMutableRawPointer(owner)) }
        }
        owner.release()
        return true
    }

    /// Asks the interceptors. False where one of them stopped the message.
    @inline(never)
    private func intercept(_ message: UnsafeMutableRawPointer, _ frame: PostFrame.Pointer, before number: UInt64) -> Bool {
        var address = interceptorHead.load(ordering: .sequentiallyConsistent)
        while let entry = Unmanaged<ListenerEntry>.at(address) {
            let goesOn = entry._withUnsafeGuaranteedRef { interceptor in
                defer { address = interceptor.next.load(ordering: .sequentiallyConsistent) }
                let word = interceptor.word.load(ordering: .acquiring)
                guard word & (ListenerEntry.ended | ListenerEntry.paused) == 0, word & ListenerEntry.number < number else { return true }
                let owner = interceptor.owner
                if word & ListenerEntry.owned != 0 {
                    guard let owner else {
                        remove(interceptor)
                        return true
                    }
                    guard frame.pointee.excluded != UnsafeRawPointer(addressOf: owner) else { return true }
                }
                frame.pointee.listener = entry
                interceptor.mailbox?.countDirectCall()
                // Held until after the call.
                interceptor.run(message, owner.map { UnsafeRawPointer(addressOf: $0) }, frame)
                withExtendedLifetime(owner) {}
                return frame.pointee.verdict == .continue
            }
            guard goesOn else { return false }
        }
        return true
    }
}

extension Unmanaged where Instance == ListenerEntry {
    /// The entry at an address read from a chain, or nil for 0.
    @inline(__always)
    static func at(_ address: UInt) -> Unmanaged<ListenerEntry>? {
        // An entry that a chain leads to is held by it: the caller has entered the list, or holds its lock.
        UnsafeRawPointer(bitPattern: address).map { .fromOpaque($0) }
    }
}
