internal import Synchronization

/// What an entry keeps that hands a channel's messages on to the one listener of another list, a hub.
///
/// So that listener takes its place among those of many channels, and has one token and one mailbox. It hears each
/// message as a `Posted<any Sendable>`.
@usableFromInline
final class Forwarder: ListenerCounters, @unchecked Sendable {  // constants
    /// Of a bridge, which hears only messages posted in this process: what to enqueue for a message; nil to skip it.
    typealias Intake = @Sendable (_ name: String, _ message: any Sendable) -> (any Sendable)?

    let hub: ListenerList
    /// The hub's listener. Kept, so that it is there while a message is offered to it; its closure may be gone.
    let listener: ListenerEntry
    fileprivate let intake: Intake?

    init(to listener: ListenerEntry, of hub: ListenerList, _ intake: Intake?) {
        self.hub = hub
        self.listener = listener
        self.intake = intake
        super.init()
    }

    /// Lends what the intake makes of the message of a post.
    ///
    /// - Returns: What the body returns; 0 if the message is skipped.
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
    /// The forwarder, kept by the entry until its `deinit`; nil if it does not forward messages.
    @inline(__always)
    fileprivate var forwarder: Unretained<Forwarder>? {
        guard isForwarder else { return nil }
        // The bit is set only where it is one.
        return Unretained(address: countersAddress.load(ordering: .relaxed))
    }
}

extension ListenerList {
    /// Posts a message to the hub of a listener that forwards it.
    ///
    /// - Returns: 1 if anybody was reached, otherwise 0.
    @inline(never)
    func forward(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        guard let forwarder = listener.forwarder else { return 0 }
        return forwarder.borrow { forwarder in
            guard !forwarder.hub.hasNoListenerNow else { return 0 }
            // Where nothing is made of the message, it is the same for all forwarders.
            guard forwarder.intake != nil else { return deliver(frame.posted, to: forwarder, frame) }
            return forwarder.lendTaken(frame) { deliver($0, to: forwarder, frame) }
        }
    }

    @inline(__always)
    private func deliver(_ message: MessageAddress, to forwarder: Forwarder, _ frame: FrameReference) -> Int {
        if frame.pointee.slowPath != .all, forwarder.hub.callOnly(forwarder.listener, message, frame) { return 1 }
        return forwarder.hub.postForwarded(message, frame)
    }

    /// Posts what the message of another list's post is for this one, a hub. By itself, so that
    /// ``forward(_:_:)`` needs no place for the frame.
    @inline(never)
    private func postForwarded(_ message: MessageAddress, _ frame: FrameReference) -> Int {
        var inner = PostFrame(forwarding: frame.pointee, message, to: self)
        defer { inner.end() }
        return min(inner.lend { post($0) }, 1)
    }

    /// Calls the one listener of a hub as a part of another list's post, which is as if it were in that list.
    ///
    /// - Returns: False if it needs special treatment, and has not been called.
    @inline(__always)
    private func callOnly(_ listener: ListenerEntry, _ message: MessageAddress, _ frame: FrameReference) -> Bool {
        guard !isMetered else { return false }
        let thread = ThreadReference.current
        // Before the word is read: it says that the listener has ended before it is taken out of the list. So
        // either this sees that, or whoever takes it out waits for this, as for any post.
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
