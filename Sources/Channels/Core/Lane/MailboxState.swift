/// The messages that wait for one listener, and what has become of the others.
///
/// Only transitions: each is made under the lock of the mailbox and returns what is to be done without it.
///
/// A listener that has its turns in a lane holds a ticket there for each message that was let in, until the
/// call for it has ended. Tickets and messages are in one order, and numbered from 0 on. A ticket is stale if
/// its message has been dropped or discarded since.
struct MailboxState: ~Copyable {
    /// What becomes of a message that is posted.
    enum Admission {
        case waits
        /// It does, in the place of the one that had waited longest.
        case replaces
        /// There was no room.
        case dropped
    }

    let policy: BufferingPolicy
    /// What nobody has taken.
    var incoming: MessageQueue
    /// How many messages have been let in: the number of the next.
    private(set) var letIn = 0
    /// How many were not let in, or dropped for those that came later.
    private(set) var dropped = 0
    /// Of how many messages the ticket is gone.
    private var settled = 0
    /// How many messages wait that were posted on the lane's own actor.
    private(set) var ownWaiting = 0
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

    /// How many messages were posted.
    var posted: Int { policy.kind == .oldest ? letIn + dropped : letIn }

    /// How many tickets there are.
    var tickets: Int { letIn - settled }

    // MARK: Posting

    /// Lets a message in for which there is always room. Its ticket is to be added.
    ///
    /// - Returns: Whether that is the only one.
    @inline(__always)
    mutating func append(copying message: MessageAddress) -> Bool {
        incoming.append(copying: message)
        return addTicket()
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
            incoming.append(copying: message, envelope)
            isFirst = addTicket()
            return .waits
        }
        dropped += 1
        guard policy.kind == .newest else { return .dropped }
        displaced = DisplacedMessage(takingFirstOf: &incoming)
        incoming.append(copying: message, envelope)
        isFirst = addTicket()
        return .replaces
    }

    @inline(__always)
    private mutating func addTicket() -> Bool {
        letIn &+= 1
        return letIn &- 1 == settled
    }

    /// The message let in was posted on the lane's own actor.
    mutating func countOwn() { ownWaiting += 1 }

    /// So many of these do not wait any more. Returns how many of them were still counted.
    mutating func removeOwn(_ count: Int) -> Int {
        guard !isDead else { return 0 }
        ownWaiting -= count
        return count
    }

    // MARK: Delivering

    /// Gives stale tickets up, of so many that begin with a number.
    ///
    /// - Returns: How many. They are the first.
    @inline(__always)
    mutating func skipTickets(_ count: Int, from number: Int) -> Int {
        guard policy.kind != .unbounded || isDead else { return 0 }
        return skipStale(count, from: number)
    }

    @inline(never)
    private mutating func skipStale(_ count: Int, from number: Int) -> Int {
        let skipped: Int
        if isDead {
            // The drain is to come across one, to discard what it has taken.
            skipped = mayHoldBatch ? count - 1 : count
        } else {
            skipped = min(max(letIn - incoming.count - number, 0), count)
        }
        settled += skipped
        return skipped
    }

    /// Moves everything that waits to the drain's own queue.
    mutating func takeAll(into batch: inout MessageQueue) {
        guard !incoming.isEmpty else { return }
        swap(&incoming, &batch)
        mayHoldBatch = true
    }

    /// Uses tickets up to the first that is not stale, and moves its message out.
    ///
    /// - Parameter numbers: Those of the tickets. The listener has none before them.
    /// - Returns: How many tickets were used: all if there was no message.
    mutating func takeFirst(of numbers: Range<Int>, into place: MessageAddress, _ envelope: inout Envelope?) -> (
        used: Int, hasMessage: Bool
    ) {
        let first = letIn - incoming.count
        guard first < numbers.upperBound else { return (numbers.count, false) }
        envelope = incoming.moveFirst(to: place)
        return (first - numbers.lowerBound + 1, true)
    }

    /// The calls for so many tickets have ended. True if there are no more.
    @inline(__always)
    mutating func settle(_ count: Int, holdsBatch: Bool) -> Bool {
        mayHoldBatch = holdsBatch
        settled += count
        guard tickets == 0 else { return false }
        incoming.giveBack()
        return true
    }

    // MARK: Ending

    /// Ends the mailbox and hands out what waits.
    ///
    /// - Returns: How many tickets are stale because of that, and how many messages of the lane's own actor no
    ///   longer wait.
    mutating func end(into discarded: inout MessageQueue) -> (stale: Int, own: Int) {
        // Also where the drain has given the tickets up between the cancellation and this: then it is dead, and
        // nobody else takes what waits.
        swap(&incoming, &discarded)
        guard !isDead else { return (0, 0) }
        isDead = true
        return (tickets, ownWaiting)
    }

    /// The same for what the drain has taken and does not deliver now.
    mutating func end(batch: inout MessageQueue, into discarded: inout MessageQueue) {
        swap(&batch, &discarded)
        mayHoldBatch = false
    }

    /// No post can see the listener any more, or there is no ticket any more.
    ///
    /// - Returns: Whether both is so: its closure can be freed.
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
