/// What travels with a message, and is kept with it in a mailbox. Messages with nothing to keep have none.
///
/// One object for all of it: to keep it, or to copy a ``Posted``, counts one reference. A list has one that says
/// only its name, for the messages that have none. Two values stay apart. `PostOptions` are the arguments of a post, in
/// registers: as an envelope they would be an allocation for each post, which has none (`thresholds.txt`).
/// ``RemoteDelivery`` is made by a transport, which has no channel yet.
@usableFromInline
final class Envelope: Sendable {
    @usableFromInline let channelName: String?
    @usableFromInline let sender: (any AnyObject & Sendable)?
    /// The other process, if the message came in over a bridge.
    @usableFromInline let process: String?
    /// How it came in, if the bridge says so.
    let delivery: RemoteDelivery?
    /// Tracks the listeners, if the poster waits for them to finish.
    let tracker: PostTracker?
    let trace: (any MessageTrace)?
    /// Whether a listener may keep it: it has no tracker and no trace, which would keep what waits for the post to end.
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

    /// Makes one with the same sender and origin.
    func copy(
        named channelName: String?,
        tracker: PostTracker? = nil,
        trace: (any MessageTrace)? = nil
    ) -> Envelope {
        Envelope(channelName, sender: sender, origin: origin, delivery, tracker: tracker, trace: trace)
    }
}

extension Envelope {
    /// Returns what a listener is told, and may keep.
    fileprivate func told(on list: ListenerList) -> Envelope {
        if list.kind == .pattern { return copy(named: list.name) }
        return outlivesPost ? self : copy(named: channelName)
    }
}

extension ListenerList {
    /// Returns what a listener of this list is told with a message. The listener of a pattern is told the pattern.
    func envelope(of message: Envelope?) -> Envelope? {
        guard let message else { return envelope }
        return message.told(on: self)
    }
}
