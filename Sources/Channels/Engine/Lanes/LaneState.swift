internal import Synchronization

/// Whose turn it is in a lane.
///
/// Only transitions: each is made under the lane's lock, which also guards the mailboxes of the lane's listeners,
/// and returns what is to be done without it. The messages wait in the mailboxes. Here each has a ticket, in the
/// order posted, which stands for "the next message of this listener". A message that takes the place of another in
/// a full buffer takes over its ticket. The tickets of a cancelled listener are skipped when their turn comes.
struct LaneState: ~Copyable {
    /// Turns of one listener that follow each other.
    struct Ticket {
        /// The listener's, or 0 where there is no ticket. Kept by its list, and once it has left that, by
        /// ``Mailbox/takesOverBody(of:)``, until it has no ticket any more.
        fileprivate let address: UInt
        fileprivate(set) var count: Int

        fileprivate static var none: Ticket { Ticket(address: 0, count: 0) }

        /// There are no tickets of nobody where this is asked.
        @inline(__always)
        var listener: Unretained<ListenerEntry> { Unretained(address: address)! }

        /// Kept by the listener. Those without a mailbox get no tickets.
        @inline(__always)
        var mailbox: Unretained<Mailbox> { listener.borrow { $0.certainMailbox } }

        /// Splits off the first messages, at most so many.
        @inline(__always)
        fileprivate mutating func removeFirst(most: Int) -> Ticket {
            let first = Ticket(address: address, count: min(count, most))
            count -= first.count
            return first
        }

        /// So many messages have been delivered, or have gone.
        @inline(__always)
        mutating func use(_ used: Int) { count -= used }
    }

    enum Phase {
        /// Nothing waits, and there is no job: the next message starts one.
        case idle
        /// A job is to begin a turn.
        case scheduled
        /// A turn is under way, or has left tickets that it had taken for the next.
        case draining
    }

    /// What is to be done without the lock after a message has got a ticket.
    struct Appended: OptionSet {
        let rawValue: UInt8
        static let startsDrain = Appended(rawValue: 1)
        /// The lane holds more messages than it should; see ``LaneState/backlogLimit``.
        static let isBacklog = Appended(rawValue: 2)
    }

    private(set) var phase = Phase.idle
    /// How many messages have tickets that the drain has not taken.
    private(set) var count = 0
    /// The newest, to which more may be added; of nobody where there is none.
    private var newest = Ticket.none
    /// Those before it.
    private var tickets = Queue<Ticket>()
    /// With more messages than this, a fault is raised. Doubles then, and begins again when the lane is idle.
    private(set) var backlogLimit = Self.firstBacklog
    private static var firstBacklog: Int { 1 << 20 }

    // MARK: Posting

    /// Adds the ticket of a message that a mailbox has let in.
    @inline(__always)
    mutating func append(_ listener: Unretained<ListenerEntry>) -> Appended {
        count &+= 1
        if newest.address == listener.address {
            newest.count &+= 1
        } else {
            if newest.count > 0 { tickets.append(newest) }
            newest = Ticket(address: listener.address, count: 1)
        }
        guard phase == .idle else { return count > backlogLimit ? noteBacklog() : [] }
        phase = .scheduled
        return .startsDrain
    }

    @inline(never)
    private mutating func noteBacklog() -> Appended {
        backlogLimit *= 2
        return .isBacklog
    }

    // MARK: Delivering

    /// The drain begins a turn. False if it has ended meanwhile.
    mutating func beginTurn() -> Bool {
        guard phase == .scheduled else { return false }
        phase = .draining
        return true
    }

    /// Takes the oldest tickets, for so many calls at most. Where there are none, the turn ends and the lane is
    /// idle.
    ///
    /// - Returns: Whether the turn goes on.
    mutating func take(_ most: Int, into taken: inout [Ticket]) -> Bool {
        var left = most
        while left > 0, let ticket = pop(most: left) {
            left -= ticket.count
            taken.append(ticket)
            // From an unbounded buffer everything at once: nothing is dropped from it.
            ticket.mailbox.borrow { if $0.takesAll, $0.batch.isEmpty { $0.state.takeAll(into: &$0.batch) } }
        }
        guard taken.isEmpty else { return true }
        becomeIdle()
        return false
    }

    /// The drain ends a turn, and has used all it had taken. True if the lane is idle; otherwise there is to be
    /// another turn.
    mutating func endTurn() -> Bool {
        guard count == 0 else {
            phase = .scheduled
            return false
        }
        becomeIdle()
        return true
    }

    private mutating func becomeIdle() {
        phase = .idle
        backlogLimit = Self.firstBacklog
    }

    /// The listener whose turn it is.
    var next: Unretained<ListenerEntry>? {
        if let first = tickets.first { return first.listener }
        return newest.count > 0 ? newest.listener : nil
    }

    /// Removes the oldest ticket, or a part of it.
    @inline(__always)
    private mutating func pop(most: Int) -> Ticket? {
        let part = tickets.withFirst { first -> Ticket? in first.count > most ? first.removeFirst(most: most) : nil }
        // With no part, there is none or it is taken whole.
        if let ticket = (part ?? nil) ?? tickets.popFirst() {
            count -= ticket.count
            return ticket
        }
        guard newest.count > 0 else { return nil }
        let ticket = newest.removeFirst(most: most)
        if newest.count == 0 { newest = .none }
        count -= ticket.count
        return ticket
    }
}
