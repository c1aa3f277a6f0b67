/// What travels with a message, and is kept with it in a mailbox. A message with nothing to keep has no envelope.
///
/// One object holds all of it, so that keeping it, or copying a ``Posted``, counts only one reference. For messages
/// without an envelope, a list has one that contains only the name of the channel.
///
/// Two other types are deliberately not part of it. `PostOptions` holds the arguments of a post in registers; an
/// envelope would cost every post an allocation, and posts must not allocate (`thresholds.txt`). ``RemoteDelivery`` is
/// made by a transport, which has no channel yet.
@usableFromInline
final class Envelope: Sendable {
    @usableFromInline let channelName: String?
    @usableFromInline let sender: (any AnyObject & Sendable)?
    /// The other process, if the message came in over a bridge.
    @usableFromInline let process: String?
    /// How the message came in, if the bridge says so.
    let delivery: RemoteDelivery?
    /// Tracks the listeners, if the poster waits for them to finish.
    let tracker: PostTracker?
    let trace: (any MessageTrace)?
    /// Whether a listener may keep this: only without a tracker and a trace, which would keep alive what waits for the
    /// post to end.
    private let outlivesPost: Bool

    init(
        _ channelName: String?,
        sender: (any AnyObject & Sendable)? = nil,
        origin: MessageOrigin = .local,
        _ delivery: RemoteDelivery? = nil,
        tracker: PostTracker? = nil,
        trace: (any MessageTrace)? = nil
    ) {
        self.channelName = channelName
        self.sender = sender
        process = origin.process
        self.delivery = delivery
        self.tracker = tracker
        self.trace = trace
        outlivesPost = tracker == nil && trace == nil
    }

    @usableFromInline var origin: MessageOrigin { process.map { .remote($0) } ?? .local }

    /// Makes an envelope with the same sender and origin.
    func copy(
        named channelName: String?,
        tracker: PostTracker? = nil,
        trace: (any MessageTrace)? = nil
    ) -> Envelope {
        Envelope(channelName, sender: sender, origin: origin, delivery, tracker: tracker, trace: trace)
    }
}

extension Envelope {
    /// Returns an envelope that can be passed to a listener, which may keep it.
    fileprivate func told(on list: ListenerList) -> Envelope {
        if list.kind == .pattern { return copy(named: list.name) }
        return outlivesPost ? self : copy(named: channelName)
    }
}

extension ListenerList {
    /// Returns the envelope that a listener of this list receives with a message. For the listener of a pattern, it
    /// names the pattern.
    func envelope(of message: Envelope?) -> Envelope? {
        guard let message else { return envelope }
        return message.told(on: self)
    }
}
