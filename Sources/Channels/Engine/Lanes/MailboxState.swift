internal import Synchronization

/// The messages that wait for one listener, and counts of the others. Transitions only, under the mailbox's
/// lock. A listener with a lane holds a ticket there for each waiting message, until its call has ended. If
/// the listener ends, its tickets stay until their turn. The drain takes all messages of an
/// unbounded buffer at once (`Mailbox.batch`), also those whose tickets it has not taken yet.
struct MailboxState: ~Copyable {
    enum Admission {
        /// It waits, and its ticket must be added.
        case waits
        /// It takes the place and ticket of the message that had waited longest.
        case replaces
        case dropped
    }

    let policy: BufferingPolicy
    /// Messages that nobody has taken.
    var incoming: MessageQueue
    private(set) var admitted = 0
    /// How many were not admitted, or were replaced by later ones.
    private(set) var dropped = 0
    /// How many tickets wait, are taken, or have a call that is not settled.
    private(set) var tickets = 0
    /// Whether nothing is delivered any more.
    private(set) var isDead = false
    /// Whether no post can see the listener any more.
    private(set) var hasLeft = false

    init(_ layout: MessageLayout, _ policy: BufferingPolicy) {
        self.policy = policy
        incoming = MessageQueue(layout)
    }

    /// What happened to the messages. `delivered`: how many calls were begun, or messages read.
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

    private var posted: Int { policy.kind == .oldest ? admitted + dropped : admitted }

    /// Admits a message unconditionally. Its ticket must be added.
    mutating func append(copying message: MessageAddress) {
        incoming.append(copying: message)
        admitted &+= 1
        tickets &+= 1
    }

    /// Admits a message if the policy has room for it. `displaced` receives the message it replaces, to be released
    /// without the lock.
    mutating func admit(
        copying message: MessageAddress,
        _ envelope: Envelope?,
        displaced: inout DisplacedMessage?
    ) -> Admission {
        guard policy.kind != .unbounded, incoming.count >= policy.limit else {
            append(copying: message)
            if let envelope { incoming.keep(envelope) }
            return .waits
        }
        drop()
        guard policy.kind == .newest else { return .dropped }
        displaced = DisplacedMessage(takingFirstOf: &incoming)
        incoming.append(copying: message, envelope)
        admitted &+= 1
        return .replaces
    }

    /// Counts a message that is dropped.
    mutating func drop() { dropped += 1 }

    /// Moves everything into a batch, which is empty: the messages in it are older, and would be overtaken.
    mutating func takeAll(into batch: inout MessageQueue) {
        assert(batch.isEmpty, "older messages wait")
        if !incoming.isEmpty { swap(&incoming, &batch) }
    }

    /// Moves the first message out. Returns false if there is none because the listener has ended.
    mutating func takeFirst(into place: MessageAddress, _ envelope: inout Envelope?) -> Bool {
        guard !incoming.isEmpty else { return false }
        envelope = incoming.moveFirst(to: place)
        return true
    }

    /// Removes so many tickets, whose calls have ended. Returns true if there are no more.
    mutating func settle(_ count: Int) -> Bool {
        tickets -= count
        guard tickets == 0 else { return false }
        incoming.giveBack()
        return true
    }

    /// Ends the mailbox and hands out what waits.
    mutating func end(into discarded: inout MessageQueue) {
        swap(&incoming, &discarded)
        isDead = true
    }

    /// Records that no post can see the listener. Returns true, to free its closure, if no ticket is left.
    mutating func leave() -> Bool {
        hasLeft = true
        guard tickets == 0 else { return false }
        // Nothing may be admitted after the closure is freed, by an owner that registers in its deinit.
        isDead = true
        return true
    }
}

/// A removed message and its envelope, to be released without the lock.
struct DisplacedMessage {
    /// Nil if its type has nothing to release.
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
