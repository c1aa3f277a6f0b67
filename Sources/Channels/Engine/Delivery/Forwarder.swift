internal import Synchronization

/// Forwards a channel's messages, as `Posted<any Sendable>`, to the one listener of another list, a hub. So
/// that listener has its place among those of many channels, and has one token and one mailbox.
@usableFromInline
final class Forwarder: ListenerCounters, @unchecked Sendable {  // constants
    /// Returns what a bridge enqueues for a message posted in this process; nil to skip it.
    typealias Intake = @Sendable (_ name: String, _ message: any Sendable) -> (any Sendable)?

    let hub: ListenerList
    /// The hub's listener, kept alive while it is offered messages; its closure may be freed.
    let listener: ListenerEntry
    fileprivate let intake: Intake?

    init(to listener: ListenerEntry, of hub: ListenerList, _ intake: Intake?) {
        self.hub = hub
        self.listener = listener
        self.intake = intake
        super.init()
    }

    /// Lends what the intake makes of a message. Returns what the body returns; 0 if it is skipped.
    @inline(never)
    fileprivate func lendTaken(_ frame: FrameReference, _ body: (MessageAddress) -> Int) -> Int {
        let context = PostContext(frame)
        guard let intake, let place = context.place, let name = place.channelName, place.process == nil,
            let taken = intake(name, frame.boxedMessage)
        else { return 0 }
        return MessageAddress.lending(Posted(taken, context), body)
    }
}

extension ListenerEntry {
    /// Kept by the entry until its `deinit`; nil if it does not forward messages.
    @inline(__always)
    var forwarder: Unretained<Forwarder>? {
        guard isForwarder else { return nil }
        // The bit is set only if the counters are a forwarder.
        return Unretained(address: countersAddress.load(ordering: .relaxed))
    }
}

extension ListenerList {
    /// Posts a message to the hub of a forwarding listener. Returns 1 if anyone was reached, otherwise 0.
    @inline(never)
    func forward(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        guard let forwarder = listener.forwarder else { return 0 }
        return forwarder.borrow { forwarder in
            guard !forwarder.hub.hasNoListenerNow else { return 0 }
            // Without an intake, the message is the same for all forwarders.
            guard forwarder.intake != nil else { return deliver(frame.posted, to: forwarder, frame) }
            return forwarder.lendTaken(frame) { deliver($0, to: forwarder, frame) }
        }
    }

    @inline(__always)
    private func deliver(_ message: MessageAddress, to forwarder: Forwarder, _ frame: FrameReference) -> Int {
        if !frame.pointee.checksAll, forwarder.hub.callOnly(forwarder.listener, message, frame) { return 1 }
        return forwarder.hub.postForwarded(message, frame)
    }

    /// Posts another list's message to this hub. Separate, so that ``forward(_:_:)`` needs no frame.
    @inline(never)
    private func postForwarded(_ message: MessageAddress, _ frame: FrameReference) -> Int {
        var inner = PostFrame(forwarding: frame.pointee, message, to: self)
        defer { inner.end() }
        return min(inner.lend { post($0) }, 1)
    }

    /// Calls the one listener of a hub as part of another list's post, as if it were in that list. Returns
    /// false, without a call, if it needs special treatment.
    @inline(__always)
    private func callOnly(_ listener: ListenerEntry, _ message: MessageAddress, _ frame: FrameReference) -> Bool {
        guard !isObserved else { return false }
        let thread = ThreadReference.current
        // Before the word is read. A listener ends before it is unlinked, so either this sees that it has
        // ended, or the thread that unlinks it waits for this as for any post.
        enter(thread)
        defer { leave(thread) }
        let limit = nextNumber.load(ordering: .relaxed)
        let word = listener.word.load(ordering: .sequentiallyConsistent)
        if word < limit {
            frame.pointee.beginCall(of: listener)
            listener.body.callBare(message)
            return true
        }
        guard word ^ ListenerEntry.owned < limit, let owner = listener.retainedOwner else { return false }
        frame.pointee.beginCall(of: listener)
        listener.body.callBare(message, owner: OwnerReference(owner))
        owner.release()
        return true
    }
}
