internal import Synchronization

/// Whose turn it is in a lane.
///
/// Only transitions: each is made under the lane's lock, which guards the mailboxes of the lane's listeners as
/// well, and returns what is to be done without it. The messages wait in the mailboxes; here each has a
/// ticket, in the order posted. So a full buffer can drop a message, and a cancelled listener's can be
/// discarded, without a search.
struct LaneState: ~Copyable {
    /// Turns of one listener that follow each other.
    struct Ticket {
        /// Retained while it has tickets (see ``Leaving``): once, not once for each.
        let listener: Unretained<ListenerEntry>
        var count: UInt32
        /// Who posted the messages, if that was on the lane's own actor; otherwise 0.
        let poster: UInt32

        /// Kept by the listener.
        @inline(__always)
        func borrowMailbox<Result>(_ body: (Mailbox) -> Result) -> Result {
            // Listeners without a mailbox get no tickets.
            listener.borrow { $0.mailboxReference! }.borrow(body)
        }
    }

    /// What is to be done for listeners that have no ticket any more, once the lock is released.
    struct Leaving {
        var listeners: [(listener: Unretained<ListenerEntry>, hasLeft: Bool)] = []
        /// How many own messages will not be delivered.
        var ownCount = 0

        mutating func add(_ ticket: Ticket) {
            ticket.borrowMailbox {
                $0.isBusy.store(false, ordering: .releasing)
                // The last one: where no post can see the listener, nothing is let in from here on.
                listeners.append((ticket.listener, $0.state.hasLeft && $0.state.leave()))
            }
        }

        /// Runs user code: the deinit of what closures captured.
        func leave() {
            for (listener, hasLeft) in listeners {
                if hasLeft { listener.borrow { $0.freeBody() } }
                // Balances the retain for the first ticket.
                listener.release()
            }
        }
    }

    enum Phase { case idle, scheduled, draining }

    private(set) var phase = Phase.idle
    /// The oldest, of which a part may have been taken; with no count where there is none.
    private var first: Ticket?
    private var tickets = Queue<Ticket>()
    /// The newest, to which more may be added.
    private var last: Ticket?
    /// How many there are.
    private(set) var count = 0
    /// How many may be stale.
    private var staleCount = 0
    /// Who has posted the messages of tickets that have a poster.
    var ownPosters = OwnPosters()

    // MARK: Posting

    /// Adds the ticket of a message that a mailbox has let in. True if the drain is to be started.
    @inline(__always)
    mutating func append(_ listener: Unretained<ListenerEntry>, from poster: UInt32) -> Bool {
        count &+= 1
        if let newest = last {
            if newest.listener == listener, newest.poster == poster, newest.count < .max {
                last = Ticket(listener: listener, count: newest.count &+ 1, poster: poster)
            } else {
                tickets.append(newest)
                last = Ticket(listener: listener, count: 1, poster: poster)
            }
        } else {
            last = Ticket(listener: listener, count: 1, poster: poster)
        }
        guard phase == .idle else { return false }
        phase = .scheduled
        return true
    }

    /// Some tickets have become stale. Where they are more than half of all, they are removed, so that what
    /// is dropped or discarded takes no memory while the lane stands still.
    mutating func areStale(_ number: Int, _ leaving: inout Leaving) {
        staleCount += number
        guard staleCount > Self.mostStale, staleCount * 2 > count else { return }
        staleCount = 0
        var kept = Queue<Ticket>()
        // More may be added to it, so it stays apart.
        var newest: Ticket?
        while var ticket = pop(most: .max) {
            let skipped = ticket.borrowMailbox { $0.state.skipTickets(Int(ticket.count)) }
            remove(skipped, ofPosterOf: ticket, &leaving)
            ticket.count -= UInt32(skipped)
            if ticket.count > 0 {
                count += Int(ticket.count)
                if let newest { kept.append(newest) }
                newest = ticket
            } else if ticket.borrowMailbox({ $0.state.tickets == 0 }) {
                leaving.add(ticket)
            }
        }
        swap(&tickets, &kept)
        last = newest
    }

    private static let mostStale = 64
    private static let mostLooks = 256

    // MARK: Delivering

    /// The drain begins a turn. False if it has ended meanwhile.
    mutating func beginTurn() -> Bool {
        guard phase == .scheduled else { return false }
        phase = .draining
        return true
    }

    /// The calls for some tickets have ended.
    mutating func settle(_ ticket: Ticket, count: Int, _ leaving: inout Leaving) {
        let isLast = ticket.borrowMailbox { $0.state.settle(count, holdsBatch: !$0.batch.isEmpty) }
        if isLast { leaving.add(ticket) }
    }

    /// Takes the oldest tickets, for so many calls at most. Where there are none, the turn ends and the lane
    /// is idle. Passes over so many stale ones that the lock is not held for long; then it may have taken
    /// none and is to be called again.
    ///
    /// - Returns: Whether the turn goes on.
    mutating func take(_ most: Int, into taken: inout [Ticket], _ leaving: inout Leaving) -> Bool {
        var left = most
        for _ in 0..<Self.mostLooks {
            guard left > 0, var ticket = pop(most: left) else { break }
            let skipped = ticket.borrowMailbox { mailbox in
                let skipped = mailbox.state.takeTickets(Int(ticket.count))
                // From an unbounded buffer everything at once: nothing is dropped from it.
                if mailbox.takesAll, mailbox.batch.isEmpty { mailbox.state.takeAll(into: &mailbox.batch) }
                return skipped
            }
            remove(skipped, ofPosterOf: ticket, &leaving)
            ticket.count -= UInt32(skipped)
            if ticket.count > 0 {
                left -= Int(ticket.count)
                taken.append(ticket)
            } else if ticket.borrowMailbox({ $0.state.tickets == 0 }) {
                leaving.add(ticket)
            }
        }
        guard taken.isEmpty, count == 0 else { return true }
        phase = .idle
        return false
    }

    /// The drain ends a turn. True if the lane is idle; otherwise there is to be another turn.
    mutating func endTurn(holds taken: borrowing [Ticket]) -> Bool {
        phase = taken.isEmpty && count == 0 ? .idle : .scheduled
        return phase == .idle
    }

    /// So many messages of a ticket will not be delivered.
    @inline(__always)
    private mutating func remove(_ count: Int, ofPosterOf ticket: Ticket, _ leaving: inout Leaving) {
        guard ticket.poster != 0 else { return }
        ownPosters.remove(count, of: ticket.poster)
        leaving.ownCount += count
    }

    /// Whether a drain is under way, so that what it has taken is its own.
    var isDraining: Bool { phase == .draining }

    /// The listener whose turn it is.
    var next: Unretained<ListenerEntry>? { first?.listener ?? tickets.first?.listener ?? last?.listener }

    /// Removes the oldest, or a part of it.
    private mutating func pop(most: Int) -> Ticket? {
        if first == nil {
            first = tickets.popFirst()
            if first == nil {
                first = last
                last = nil
            }
        }
        guard let oldest = first else { return nil }
        let taken = min(Int(oldest.count), most)
        count -= taken
        let rest = oldest.count - UInt32(taken)
        first = rest == 0 ? nil : Ticket(listener: oldest.listener, count: rest, poster: oldest.poster)
        return Ticket(listener: oldest.listener, count: UInt32(taken), poster: oldest.poster)
    }
}
