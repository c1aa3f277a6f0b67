internal import Synchronization

/// The messages that wait for one listener, and counts of all others. Transitions only, made under the mailbox's lock.
///
/// A listener that is called has a ticket for each message until the call with it has ended. For a listener with a
/// lane, the ticket is in the lane; for an async listener it is only counted. If a listener ends, its tickets stay in
/// the lane until their turn. The drain takes all messages of an unbounded buffer at once (`Mailbox.batch`), including
/// those whose tickets it has not taken yet.
struct MailboxState: ~Copyable {
    enum Admission {
        /// The message waits, and its ticket must be added.
        case waits
        /// The message waits instead of the one that had waited longest, whose ticket it takes over.
        case replaces
        case dropped
        /// The listener has ended.
        case refused
    }

    let policy: BufferingPolicy
    /// Whether a message whose call has not ended counts toward the limit, like one that waits.
    private let dropsWhileBusy: Bool
    /// The messages that have not been taken.
    var incoming: MessageQueue
    private(set) var admitted = 0
    /// How many were not admitted.
    private var turnedAway = 0
    /// How many were not admitted, or were replaced by later messages.
    private(set) var dropped = 0
    /// How many tickets wait, are taken, or belong to a call that is not settled. Not used for a sequence.
    private(set) var tickets = 0
    /// Whether nothing is delivered anymore.
    private(set) var isDead = false
    /// Whether no post can see the listener anymore.
    private(set) var hasLeft = false

    init(_ layout: MessageLayout, _ policy: BufferingPolicy, dropsWhileBusy: Bool = false) {
        self.policy = policy
        self.dropsWhileBusy = dropsWhileBusy
        incoming = MessageQueue(layout)
    }

    /// What happened to the messages. `delivered` is how many calls have begun, or how many messages were read.
    func accounts(delivered: borrowing Atomic<Int>) -> ListenerAccounts {
        let delivered = delivered.load(ordering: .acquiring)
        let rest = posted - delivered - dropped
        return ListenerAccounts(
            posted: posted,
            delivered: delivered,
            waiting: isDead ? 0 : rest,
            dropped: dropped,
            discarded: isDead ? rest : 0
        )
    }

    /// Whether to check that the owner is alive: now and then, if many messages wait. Posts do not check it while
    /// messages wait, and it may be long before the drain or a reader does.
    var isLookDue: Bool {
        admitted & (Self.messagesPerLook - 1) == 0 && incoming.count >= Self.messagesPerLook
    }

    /// How many messages are admitted between two checks of the owner. A power of two.
    private static var messagesPerLook: Int { 1_024 }

    private var posted: Int { admitted + turnedAway }

    /// Admits a message unconditionally. Its ticket must be added.
    mutating func append(copying message: MessageAddress) {
        incoming.append(copying: message)
        admitted &+= 1
        tickets &+= 1
    }

    /// Admits a message if the listener has not ended and the policy has room for it. `displaced` receives the message
    /// it replaces, to be released without the lock.
    mutating func admit(
        for listener: ListenerEntry,
        copying message: MessageAddress,
        _ envelope: Envelope?,
        displaced: inout DisplacedMessage?
    ) -> Admission {
        // `cancel` sets the bit before it takes this lock to discard messages, so it finds what is enqueued here.
        guard !listener.isCancelled, !isDead else { return .refused }
        // An unbounded buffer has the greatest possible limit.
        guard (dropsWhileBusy ? tickets : incoming.count) >= policy.limit else {
            append(copying: message)
            if let envelope { incoming.keep(envelope) }
            return .waits
        }
        dropped += 1
        switch policy.kind {
        case .oldest, .unbounded, .automatic:
            turnedAway += 1
            return .dropped
        case .newest:
            displaced = DisplacedMessage(takingFirstOf: &incoming)
            incoming.append(copying: message, envelope)
            admitted &+= 1
            return .replaces
        }
    }

    /// Moves everything into a batch, which must be empty: messages left in it are older, and would be overtaken.
    mutating func takeAll(into batch: inout MessageQueue) {
        assert(batch.isEmpty, "older messages wait")
        if !incoming.isEmpty { swap(&incoming, &batch) }
    }

    /// Moves the first message out. Returns false if there is none.
    mutating func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard !incoming.isEmpty else { return false }
        envelope = incoming.moveFirst(to: place)
        return true
    }

    /// Removes the tickets of this many calls that have ended. Returns whether to free the closure.
    mutating func settle(_ count: Int) -> Bool {
        tickets -= count
        guard tickets == 0 else { return false }
        incoming.giveBack()
        return hasLeft && leave()
    }

    /// Ends the mailbox and moves out what waits.
    /// - Parameter keepsTickets: Whether the tickets stay in a lane until their turn.
    mutating func end(into discarded: inout MessageQueue, keepsTickets: Bool) {
        swap(&incoming, &discarded)
        if !keepsTickets { tickets -= discarded.count }
        isDead = true
    }

    /// Whether a message has been taken and its call is not settled.
    var isCalling: Bool { tickets > incoming.count }

    /// Records that no post can see the listener anymore. Returns true if no ticket is left, so that its closure is to
    /// be freed.
    mutating func leave() -> Bool {
        hasLeft = true
        guard tickets == 0 else { return false }
        // Nothing may be admitted after the closure is freed, not even if an owner registers in its deinit.
        isDead = true
        return true
    }
}

/// A removed message and its envelope, to be released without the lock.
struct DisplacedMessage {
    /// The message; nil if its type has nothing to release.
    private let message: KeptMessage?
    let envelope: Envelope?

    /// Returns nil if there is nothing to release.
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
