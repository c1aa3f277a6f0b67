internal import Synchronization

/// Forwards a channel's messages, as `Posted<any Sendable>`, to the one listener of another list, a hub. That listener
/// thus has a place among the listeners of many channels, but only one token and one mailbox.
///
/// Nothing is posted on the hub: the listener is counted there, and ends there. A post that has entered a channel may
/// call the listener until the entry that forwards to it has left that channel. So the closure is not freed until all
/// these entries have left. The `PatternListener` that they keep alive then frees it.
@usableFromInline
final class Forwarder: ListenerRoute, @unchecked Sendable {  // constants
    let hub: ListenerList
    let listener: ListenerEntry
    /// The `PatternListener`, which frees the listener's closure when the last forwarder releases it.
    private let pattern: any AnyObject & Sendable

    init(to listener: ListenerEntry, of hub: ListenerList, keeping pattern: any AnyObject & Sendable) {
        self.hub = hub
        self.listener = listener
        self.pattern = pattern
        super.init()
    }
}

extension ListenerEntry {
    /// The route of an entry that forwards messages, which the entry keeps until its `deinit`; nil for any other entry.
    @inline(__always)
    var forwarder: Unretained<Forwarder>? {
        guard isForwarder else { return nil }
        // The bit is set only if the route is a forwarder.
        return Unretained(address: routeAddress.load(ordering: .relaxed))
    }
}

extension ListenerList {
    /// Delivers the message of a post to a pattern's listener, at the place of the entry that forwards to it. Entries
    /// that follow it and also do nothing but forward are served in the same call, so that the message is boxed only
    /// once. Returns how many listeners were reached; the frame then names the last of these entries as its listener.
    @inline(never)
    func forward(_ frame: FrameReference, _ entry: ListenerEntry) -> Int {
        let message = frame.pointee.list.borrow { $0.layout.boxed(frame.pointee.message) }
        let post = Posted(message, envelope(of: frame.pointee.ensureEnvelope()))
        return MessageAddress.lending(post) { posted in
            var reached = 0
            var last = Unretained(entry)
            while true {
                reached += last.borrow { $0.forwarder?.borrow { $0.hub.hear(posted, frame, $0.listener) } ?? 0 }
                let address = last.borrow { $0.next.load(ordering: .sequentiallyConsistent) }
                guard !frame.pointee.checksAll, let next = Unretained<ListenerEntry>(address: address),
                    next.borrow({ onlyForwards(frame, $0) })
                else { break }
                last = next
            }
            frame.pointee.listener = last
            return reached
        }
    }

    /// Whether an entry is old enough and does nothing but forward, judging by the bits that ``deliverByRoute(_:_:)``
    /// tests.
    @inline(__always)
    private func onlyForwards(_ frame: FrameReference, _ entry: ListenerEntry) -> Bool {
        let state = entry.state
        return state.routing == .forwarding && state.isOld(before: frame.pointee.number)
    }

    /// Delivers a message to the one listener of this hub, as part of another list's post.
    @inline(__always)
    private func hear(_ message: MessageAddress, _ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let former = frame.pointee.message
        frame.pointee.message = message
        frame.pointee.listener = Unretained(listener)
        let reached = isObserved ? hearObserved(frame, listener) : deliverByRoute(frame, listener)
        frame.pointee.message = former
        return reached
    }

    @inline(never)
    private func hearObserved(_ frame: FrameReference, _ listener: ListenerEntry) -> Int {
        let (isTurn, checksAll) = (frame.pointee.isTurn, frame.pointee.checksAll)
        frame.pointee.isTurn = false
        defer { (frame.pointee.isTurn, frame.pointee.checksAll) = (isTurn, checksAll) }
        return insideInstrument(frame) { deliverByRoute(frame, listener) }
    }
}
