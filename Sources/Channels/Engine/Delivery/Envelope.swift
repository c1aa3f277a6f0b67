/// What travels with a message, and is kept with it in a mailbox. Messages with nothing to keep have none.
@usableFromInline
final class Envelope: Sendable {
    let sender: (any AnyObject & Sendable)?
    let origin: Origin
    /// How it came in over a bridge.
    let delivery: RemoteDelivery?
    /// Tracks the listeners, if the poster waits for them to finish.
    let tracker: PostTracker?
    let trace: (any MessageTrace)?

    init(
        sender: (any AnyObject & Sendable)?,
        origin: Origin,
        delivery: RemoteDelivery? = nil,
        tracker: PostTracker?,
        trace: (any MessageTrace)? = nil
    ) {
        self.sender = sender
        self.origin = origin
        self.delivery = delivery
        self.tracker = tracker
        self.trace = trace
    }

    /// Makes an envelope of a message that may have had one, with another tracker or trace.
    convenience init(
        _ former: Envelope?,
        sender: (any AnyObject & Sendable)?,
        tracker: PostTracker?,
        trace: (any MessageTrace)?
    ) {
        let origin = former?.origin ?? .local
        self.init(sender: sender, origin: origin, delivery: former?.delivery, tracker: tracker, trace: trace)
    }
}

extension PostContext {
    /// Makes the context of a message from a mailbox.
    init(_ envelope: Envelope?, _ list: ListenerList) {
        sender = envelope?.sender
        place = list.place(envelope)
    }

    /// Makes the context of a call of a listener, in a post or a delivery from a mailbox.
    @usableFromInline
    init(_ frame: FrameReference) {
        // The listener of a pattern is told the pattern. Its list, or the poster, keeps the list alive.
        let list = frame.pointee.listener?.borrow { $0.level?.borrow { Unretained($0.list) } }
        self.init(frame, in: list ?? frame.pointee.list)
    }

    /// Makes the context of a post in progress on a list.
    init(_ frame: FrameReference, in list: Unretained<ListenerList>) {
        let envelope = frame.pointee.envelope
        // A sender that is being deinitialised is not passed on: a listener might keep it.
        sender = frame.pointee.sender?.living.map { sendable($0) } ?? envelope?.sender
        place = list.borrow { $0.place(envelope) }
    }
}

extension ListenerList {
    fileprivate func place(_ envelope: Envelope?) -> PostPlace? {
        guard let envelope, let process = envelope.origin.process else { return place }
        return .at(name, process, envelope.delivery)
    }
}

extension ListenerEntry {
    /// Calls the listener on the current thread, inside the trace of its message if there is one.
    @inline(__always)
    func run(
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ trace: (any MessageTrace)?
    ) {
        guard let trace else { return run(message, owner, frame) }
        trace.deliver(to: self) { run(message, owner, frame) }
    }
}
