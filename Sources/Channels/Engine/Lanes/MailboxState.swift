/// The messages that wait for one listener, and what has become of the others.
///
/// Only transitions: each is made under the lock of the mailbox and returns what is to be done without it.
///
/// A listener that has its turns in a lane holds a ticket there for each message that waits, until the call for it
/// has ended. When it ends, its tickets stay until their turn comes.
struct MailboxState: ~Copyable {
    /// What becomes of a message that is posted.
    enum Admission {
        /// It waits, and its ticket is to be added.
        case waits
        /// It waits in the place, and with the ticket, of the one that had waited longest.
        case replaces
        /// There was no room.
        case dropped
    }

    let policy: BufferingPolicy
    /// What nobody has taken.
    var incoming: MessageQueue
    /// How many messages have been let in.
    private(set) var admitted = 0
    /// How many were not let in, or dropped for those that came later.
    private(set) var dropped = 0
    /// How many tickets there are: that wait, have been taken, or whose call has not been settled.
    private(set) var tickets = 0
    /// Nothing is delivered any more.
    private(set) var isDead = false
    /// Whether no post can see the listener any more.
    private(set) var hasLeft = false

    init(_ layout: MessageLayout, _ policy: BufferingPolicy) {
        self.policy = policy
        incoming = MessageQueue(layout)
    }

    /// How many messages were posted.
    var posted: Int { policy.kind == .oldest ? admitted + dropped : admitted }

    // MARK: Posting

    /// Lets a message in for which there is always room. Its ticket is to be added.
    ///
    /// - Returns: Whether that is the only one.
    @inline(__always)
    mutating func append(copying message: MessageAddress) -> Bool {
        incoming.append(copying: message)
        admitted &+= 1
        tickets &+= 1
        return tickets == 1
    }

    /// Lets a message in if the policy has room for it.
    ///
    /// - Parameters:
    ///   - isFirst: Whether its ticket, which is to be added, is the only one.
    ///   - displaced: What is to be released without the lock, if it takes the place of another.
    mutating func admit(
        copying message: MessageAddress,
        _ envelope: Envelope?,
        isFirst: inout Bool,
        displaced: inout DisplacedMessage?
    ) -> Admission {
        guard policy.kind != .unbounded, incoming.count >= policy.limit else {
            isFirst = append(copying: message)
            if let envelope { incoming.keep(envelope) }
            return .waits
        }
        dropped += 1
        guard policy.kind == .newest else { return .dropped }
        displaced = DisplacedMessage(takingFirstOf: &incoming)
        incoming.append(copying: message, envelope)
        admitted &+= 1
        return .replaces
    }

    // MARK: Delivering

    /// Moves everything that waits to the drain's own queue.
    mutating func takeAll(into batch: inout MessageQueue) { if !incoming.isEmpty { swap(&incoming, &batch) } }

    /// Moves the first message out. False if there is none: the listener has ended.
    mutating func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard !incoming.isEmpty else { return false }
        envelope = incoming.moveFirst(to: place)
        return true
    }

    /// The calls for so many tickets have ended. True if there are no more.
    @inline(__always)
    mutating func settle(_ count: Int) -> Bool {
        tickets -= count
        guard tickets == 0 else { return false }
        incoming.giveBack()
        return true
    }

    // MARK: Ending

    /// Ends the mailbox and hands out what waits.
    mutating func end(into discarded: inout MessageQueue) {
        swap(&incoming, &discarded)
        isDead = true
    }

    /// No post can see the listener any more, or there is no ticket any more.
    ///
    /// - Returns: Whether both is so: its closure can be freed.
    mutating func leave() -> Bool {
        hasLeft = true
        guard tickets == 0 else { return false }
        // Nothing may be let in after the closure is freed, by an owner that registers in its deinit.
        isDead = true
        return true
    }
}

/// A message removed to be released without the lock, and its envelope.
struct DisplacedMessage {
    /// Nil where its type has nothing to release.
    private let message: KeptMessage?
    let envelope: Envelope?

    /// Nil if there is nothing to release.
    init?(takingFirstOf queue: inout MessageQueue) {
        var envelope: Envelope?
        if queue.layout.isTrivial {
            message = nil
            queue.layout.withTemporary { envelope = queue.moveFirst(to: $0) }
            guard envelope != nil else { return nil }
        } else {
            message = KeptMessage(queue.layout) { envelope = queue.moveFirst(to: $0) }
        }
        self.envelope = envelope
    }
}
