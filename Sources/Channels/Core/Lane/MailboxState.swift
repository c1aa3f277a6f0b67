/// The messages that wait for one listener, and what has become of the others.
///
/// Only transitions: each is made under the lock of the mailbox and returns what is to be done without it.
///
/// A listener that has its turns in a lane holds a ticket there for each message that was let in, until the
/// call for it has ended. The tickets and the messages are in one order. A ticket is stale if its message has
/// been dropped or discarded since; those of a mailbox that has ended all are.
struct MailboxState: ~Copyable {
    /// What becomes of a message that is posted.
    enum Admission {
        case waits
        /// It does, in the place of the one that had waited longest, which is to be released.
        case replaces(DisplacedMessage)
        /// There was no room.
        case dropped
    }

    let policy: BufferingPolicy
    /// What nobody has taken.
    var incoming: MessageQueue
    private(set) var posted = 0
    private(set) var dropped = 0
    private(set) var tickets = 0
    /// How many of the oldest tickets are stale.
    private var stale = 0
    /// How many of the oldest tickets the lane has taken and not used: counted where messages can be dropped.
    private var taken = 0
    /// Whether the lane's drain may have taken messages that it has not delivered.
    private(set) var mayHoldBatch = false
    /// Nothing is delivered any more.
    private(set) var isDead = false
    /// Whether no post can see the listener any more.
    private(set) var hasLeft = false

    init(_ layout: MessageLayout, _ policy: BufferingPolicy) {
        self.policy = policy
        incoming = MessageQueue(layout)
    }

    // MARK: Posting

    /// Lets a message in for which there is always room.
    @inline(__always)
    mutating func append(copying message: MessageAddress) {
        posted &+= 1
        incoming.append(copying: message)
    }

    /// Lets a message in if the policy has room for it.
    mutating func admit(copying message: MessageAddress, _ envelope: Envelope?) -> Admission {
        posted += 1
        guard policy.kind != .unbounded, incoming.count >= policy.limit else {
            incoming.append(copying: message, envelope)
            return .waits
        }
        dropped += 1
        guard policy.kind == .newest else { return .dropped }
        let displaced = DisplacedMessage(takingFirstOf: &incoming)
        incoming.append(copying: message, envelope)
        return .replaces(displaced)
    }

    /// Adds the ticket of a message just let in. True if it is the only one.
    @inline(__always)
    mutating func addTicket() -> Bool {
        tickets &+= 1
        return tickets == 1
    }

    /// The message of the oldest ticket that was not stale has been dropped.
    mutating func ticketIsStale() { stale += 1 }

    // MARK: Delivering

    /// The lane takes tickets. Returns how many of them need not be used because they are stale.
    mutating func takeTickets(_ count: Int) -> Int {
        let skipped = skipTickets(count)
        if policy.kind != .unbounded { taken += count - skipped }
        return skipped
    }

    /// Gives stale tickets up, of so many that follow those the lane has taken. Returns how many.
    mutating func skipTickets(_ count: Int) -> Int {
        let skipped: Int
        if isDead {
            // The drain is to come across one, to discard what it has taken.
            skipped = mayHoldBatch ? count - 1 : count
        } else {
            skipped = min(max(stale - taken, 0), count)
            stale -= skipped
        }
        tickets -= skipped
        return skipped
    }

    /// Moves everything that waits to the drain's own queue.
    mutating func takeAll(into batch: inout MessageQueue) {
        guard !incoming.isEmpty else { return }
        swap(&incoming, &batch)
        mayHoldBatch = true
    }

    /// Uses a ticket that was taken: moves the first message out. False if it is stale.
    mutating func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        if policy.kind != .unbounded { taken -= 1 }
        guard stale == 0 || isDead else {
            stale -= 1
            return false
        }
        guard !incoming.isEmpty else { return false }
        envelope = incoming.moveFirst(to: place)
        return true
    }

    /// The calls for so many tickets have ended. True if there are no more.
    mutating func settle(_ count: Int, holdsBatch: Bool) -> Bool {
        mayHoldBatch = holdsBatch
        tickets -= count
        guard tickets == 0 else { return false }
        stale = 0
        taken = 0
        incoming.giveBack()
        return true
    }

    // MARK: Ending

    /// Ends the mailbox and hands out what waits. Returns how many tickets are stale because of that.
    mutating func end(into discarded: inout MessageQueue) -> Int {
        isDead = true
        swap(&incoming, &discarded)
        return tickets
    }

    /// The same for what the drain has taken and does not deliver now.
    mutating func end(batch: inout MessageQueue, into discarded: inout MessageQueue) {
        swap(&batch, &discarded)
        mayHoldBatch = false
    }

    /// No post can see the listener any more. True if nothing waits for it: its closure can be freed.
    mutating func leave() -> Bool {
        hasLeft = true
        guard tickets == 0 else { return false }
        // Nothing may be let in after the closure is freed, by an owner that registers in its deinit, or by a
        // state that still offers values to the listener of a pattern.
        isDead = true
        return true
    }
}

/// A message removed to be released without the lock, and its envelope.
struct DisplacedMessage {
    /// Nil where there is nothing to release.
    private let message: KeptMessage?
    let envelope: Envelope?

    init(takingFirstOf queue: inout MessageQueue) {
        var envelope: Envelope?
        if queue.layout.isTrivial {
            message = nil
            queue.layout.withTemporary { envelope = queue.moveFirst(to: $0) }
        } else {
            message = KeptMessage(queue.layout) { envelope = queue.moveFirst(to: $0) }
        }
        self.envelope = envelope
    }
}
