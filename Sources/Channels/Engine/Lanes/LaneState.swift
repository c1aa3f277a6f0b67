internal import Synchronization

/// The order of turns in a lane. Transitions only: each is made under the lane's lock, which also guards the
/// mailboxes of its listeners. Messages wait in the mailboxes. Each has a ticket here, in the order posted,
/// that means "the next message of this listener". A message that replaces another in a full buffer takes
/// over its ticket. Tickets of a cancelled listener are skipped.
struct LaneState: ~Copyable {
    /// Consecutive turns of one listener.
    struct Ticket {
        /// The listener's address, or 0 for no ticket. Its list keeps the listener alive and, once it has
        /// left that, ``Mailbox/takesOverBody(of:)`` does until it has no ticket.
        fileprivate let address: UInt
        fileprivate(set) var count: Int

        fileprivate static var none: Ticket { Ticket(address: 0, count: 0) }

        /// Only ``none`` has no listener, and nobody asks that for it.
        @inline(__always)
        var listener: Unretained<ListenerEntry> { Unretained(address: address)! }

        /// Kept by the listener. Only listeners with a mailbox get tickets.
        @inline(__always)
        var mailbox: Unretained<Mailbox> { listener.borrow { $0.certainMailbox } }

        /// Splits off at most `most` of the first messages.
        @inline(__always)
        fileprivate mutating func removeFirst(most: Int) -> Ticket {
            let first = Ticket(address: address, count: min(count, most))
            count -= first.count
            return first
        }

        @inline(__always)
        mutating func use(_ used: Int) { count -= used }
    }

    enum Phase {
        /// Nothing waits, and there is no job: the next message starts one.
        case idle
        /// A job will begin a turn.
        case scheduled
        /// A turn is in progress, or has left tickets that it had taken for the next.
        case draining
    }

    /// What to do without the lock after adding a ticket.
    struct Appended: OptionSet {
        let rawValue: UInt8
        static let startsDrain = Appended(rawValue: 1)
        /// The lane holds too many messages; see ``LaneState/backlogLimit``.
        static let isBacklog = Appended(rawValue: 2)
    }

    private(set) var phase = Phase.idle
    /// How many messages have tickets that the drain has not taken.
    private(set) var count = 0
    /// The newest ticket, to which more may be added.
    private var newest = Ticket.none
    /// The tickets before it.
    private var tickets = Queue<Ticket>()
    /// Above this many messages, a fault is reported and the limit doubles. Reset when the lane is idle.
    private(set) var backlogLimit = Self.firstBacklog
    private static var firstBacklog: Int { 1 << 20 }

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

    /// Begins a turn. Returns false if the drain has ended meanwhile.
    mutating func beginTurn() -> Bool {
        guard phase == .scheduled else { return false }
        phase = .draining
        return true
    }

    /// Takes the oldest tickets, for at most so many calls. Returns false, with the lane idle, if none.
    mutating func take(_ most: Int, into taken: inout [Ticket]) -> Bool {
        var left = most
        while left > 0, let ticket = pop(most: left) {
            left -= ticket.count
            taken.append(ticket)
            // Everything at once from an unbounded buffer, which drops nothing.
            ticket.mailbox.borrow { if $0.takesAll, $0.batch.isEmpty { $0.state.takeAll(into: &$0.batch) } }
        }
        guard taken.isEmpty else { return true }
        becomeIdle()
        return false
    }

    /// Ends a turn that has used all its tickets. Returns true if the lane is idle; else a turn must follow.
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

    /// Removes the oldest ticket, or part of it.
    @inline(__always)
    private mutating func pop(most: Int) -> Ticket? {
        let part = tickets.withFirst { first -> Ticket? in first.count > most ? first.removeFirst(most: most) : nil }
        // Without a part, there is no ticket or all of it is taken.
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
