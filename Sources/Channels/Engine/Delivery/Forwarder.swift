internal import Synchronization

/// What an entry keeps that hands a channel's messages on to the one listener of another list, a hub.
///
/// So that listener takes its place among those of many channels, and has one token and one mailbox.
@usableFromInline
class Forwarder: ListenerCounters, @unchecked Sendable {  // constants
    final let hub: ListenerList
    /// The hub's listener. Kept, so that it is there while a message is offered to it; its closure may be gone.
    final let listener: ListenerEntry
    /// Whether what a message is for it, it is for all forwarders of a channel.
    final let translatesForAll: Bool

    init(to listener: ListenerEntry, of hub: ListenerList, translatesForAll: Bool) {
        self.hub = hub
        self.listener = listener
        self.translatesForAll = translatesForAll
        super.init()
    }

    /// Makes what a message of a list is for the hub; nil to skip it.
    func translate(
        _ message: MessageAddress,
        _ context: consuming PostContext,
        of list: ListenerList,
        into translation: inout Translation
    ) -> MessageAddress? {
        fatalError("\(Self.self) hands no messages on")
    }
}

extension ListenerEntry {
    /// The forwarder, kept by the entry until its `deinit`; nil if it does not forward messages.
    @inline(__always)
    var forwarder: Unretained<Forwarder>? {
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
    func forward(_ message: MessageAddress, _ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        guard let forwarder = listener.forwarder else { return 0 }
        return forwarder.borrow { forwarder in
            let hub = forwarder.hub
            guard !hub.hasNoListenerNow, let message = frame.translated(message, by: forwarder) else { return 0 }
            if frame.pointee.care != .all, hub.callOnly(forwarder.listener, message, frame) { return 1 }
            return forwardInFrame(message, frame, forwarder)
        }
    }

    /// Posts a message to a forwarder's hub in a frame of its own. By itself, so that ``forward(_:_:_:)`` needs no
    /// place for that frame.
    @inline(never)
    private func forwardInFrame(_ message: MessageAddress, _ frame: FrameReference, _ forwarder: Forwarder) -> Int {
        let hub = forwarder.hub
        var inner = PostFrame(forwarding: frame.pointee, to: hub)
        let reached = inner.lend { hub.post(message, in: $0, at: .unknown) }
        inner.end()
        return min(reached, 1)
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
