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

/// What a listener can be told about a post besides the message; see ``Posted``.
@usableFromInline
struct PostContext: Sendable {
    let sender: (any AnyObject & Sendable)?
    let channelName: String?
    let origin: Origin

    /// For a message out of a mailbox.
    init(_ envelope: Envelope?, _ list: ListenerList) {
        sender = envelope?.sender
        channelName = list.name
        origin = envelope?.origin ?? .local
    }

    /// For a post under way, or a delivery from a mailbox.
    @usableFromInline
    init(_ frame: FrameReference) {
        let envelope = frame.pointee.envelope
        // One that is being deinitialised is not handed out: a listener might keep it.
        sender = frame.pointee.sender?.living.map { sendable($0) } ?? envelope?.sender
        // The poster keeps the list alive.
        channelName = frame.pointee.list.borrow { $0.name }
        origin = envelope?.origin ?? .local
    }
}
