/// What travels with a message: kept with it in a mailbox, and only if there is something to keep.
@usableFromInline
final class Envelope: Sendable {
    let sender: (any AnyObject & Sendable)?
    let origin: Origin
    /// Tracks the listeners, if the poster waits for them to finish.
    let tracker: PostTracker?
    /// When it was posted, and what instruments gave it, if its channel is traced.
    let trace: PostTrace?

    init(sender: (any AnyObject & Sendable)?, origin: Origin, tracker: PostTracker?, trace: PostTrace? = nil) {
        self.sender = sender
        self.origin = origin
        self.tracker = tracker
        self.trace = trace
    }
}

extension PostContext {
    /// For a message out of a mailbox.
    init(_ envelope: Envelope?, _ list: ListenerList) {
        sender = envelope?.sender
        place = list.place(envelope)
    }

    /// For a post under way, or a delivery from a mailbox.
    @usableFromInline
    init(_ frame: FrameReference) {
        let envelope = frame.pointee.envelope
        // One that is being deinitialised is not handed out: a listener might keep it.
        sender = frame.pointee.sender?.living.map { sendable($0) } ?? envelope?.sender
        // The poster keeps the list alive.
        place = frame.pointee.list.borrow { $0.place(envelope) }
    }
}

extension ListenerList {
    fileprivate func place(_ envelope: Envelope?) -> PostPlace? {
        guard let process = envelope?.origin.process else { return place }
        return .at(name, process)
    }
}
