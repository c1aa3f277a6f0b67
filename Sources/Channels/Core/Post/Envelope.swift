/// What travels with a message beyond the message itself: kept with it in a mailbox, and only where there is
/// something to keep.
@usableFromInline
final class Envelope: Sendable {
    let sender: (any AnyObject & Sendable)?
    let origin: Origin
    /// Who waits for the listeners to finish.
    let tracker: PostTracker?

    init(sender: (any AnyObject & Sendable)?, origin: Origin, tracker: PostTracker?) {
        self.sender = sender
        self.origin = origin
        self.tracker = tracker
    }
}

/// What a listener can be told of a post beyond the message; see ``Posted``.
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

    /// For the post under way, or what is delivered out of a mailbox in one.
    @usableFromInline
    init(_ frame: FrameReference) {
        let envelope = frame.pointee.envelope
        sender = frame.pointee.sender.map { sendable($0.object) } ?? envelope?.sender
        // Whoever posts keeps the list.
        channelName = frame.pointee.list.borrow { $0.name }
        origin = envelope?.origin ?? .local
    }
}
