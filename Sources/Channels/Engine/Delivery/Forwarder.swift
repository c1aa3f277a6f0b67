internal import Synchronization

/// Forwards a channel's messages, as `Posted<any Sendable>`, to the one listener of another list, a hub. So
/// that listener has its place among those of many channels, and has one token and one mailbox.
///
/// Nothing is posted on the hub: it is where its listener ends, and is counted. A post that has entered a channel may
/// call the listener until the entry that forwards to it has left that channel. So its closure is freed once all of
/// these have left, by what they keep alive (`PatternListener`).
@usableFromInline
final class Forwarder: ListenerRoute, @unchecked Sendable {  // constants
    let hub: ListenerList
    let listener: ListenerEntry
    /// Frees the closure of the listener when the last forwarder releases it.
    private let pattern: any AnyObject & Sendable

    init(to listener: ListenerEntry, of hub: ListenerList, keeping pattern: any AnyObject & Sendable) {
        self.hub = hub
        self.listener = listener
        self.pattern = pattern
        super.init()
    }
}

extension ListenerEntry {
    /// Kept by the entry until its `deinit`; nil if it does not forward messages.
    @inline(__always)
    var forwarder: Unretained<Forwarder>? {
        guard isForwarder else { return nil }
        // The bit is set only if the route is a forwarder.
        return Unretained(address: routeAddress.load(ordering: .relaxed))
    }
}

extension ListenerList {
    /// Delivers the message of a post to the listener of a pattern, in the place of the entry that stands for it, and
    /// to those of the entries that follow and need no other treatment: what they receive is made once. Returns how
    /// many were reached; the frame names the last entry as its listener.
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

    /// As ``deliverByRoute(_:_:)`` finds it.
    @inline(__always)
    private func onlyForwards(_ frame: FrameReference, _ entry: ListenerEntry) -> Bool {
        let word = entry.word.load(ordering: .acquiring)
        return word & ListenerEntry.routing == ListenerEntry.forwarding
            && word & ListenerEntry.number < frame.pointee.number
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
