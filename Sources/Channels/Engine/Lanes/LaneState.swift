internal import Synchronization

// The order of a lane. Messages wait in the mailboxes of their listeners; a ticket here means "the next message of this
// listener". The cycle follows; [lock] marks the steps under `Lane.lock`, which guards both states:
//
// 1. `LaneState.append`: a post has put its message into a mailbox, and adds a ticket in the same critical section
//    [lock]. The first ticket in an idle lane starts a job.
// 2. `LaneState.beginTurn`, then `Taken.take`: the job moves the oldest tickets to the drain, and with them everything
//    in those listeners' unbounded buffers [lock]. If there are no tickets, the lane is idle and the job ends.
// 3. `Taken.use`: the drain calls listeners, ticket by ticket.
// 4. `Taken.settle`: the tickets used are subtracted from those of their mailboxes [lock], and the closures of
//    listeners that have left are freed afterwards. Then 2 again, without beginning a turn.
// 5. `Taken.endTurn`, `LaneState.endTurn`: after enough calls or time, the turn ends; the next job begins at 3 with
//    what is left, or at 2 [lock].
//
// A message that replaces another in a full buffer takes over its ticket. Tickets of cancelled listeners are skipped.

/// The order in which a lane's listeners are called. Transitions only, each made under the lane's lock.
struct LaneState: ~Copyable {
    /// Consecutive deliveries to one listener.
    struct Ticket {
        /// The listener's address, or 0 for no ticket. The listener's list keeps it alive. After it has left the list,
        /// the reference that ``Mailbox/didLeaveList(_:)`` takes keeps it alive until it has no ticket.
        fileprivate let address: UInt
        fileprivate(set) var count: Int

        fileprivate static var none: Ticket { Ticket(address: 0, count: 0) }

        /// The listener. Not to be used on ``none``.
        var listener: Unretained<ListenerEntry> { Unretained(address: address)! }

        /// The mailbox, kept by the listener. Only listeners with a mailbox get tickets.
        var mailbox: Unretained<Mailbox> { listener.borrow { $0.knownMailbox } }

        /// Splits off at most `most` of the first messages.
        fileprivate mutating func removeFirst(most: Int) -> Ticket {
            let first = Ticket(address: address, count: min(count, most))
            count -= first.count
            return first
        }

        mutating func use(_ used: Int) { count -= used }
    }

    enum Phase {
        /// Nothing waits, and there is no job: the next message starts one.
        case idle
        /// A job will begin a turn.
        case scheduled
        /// A turn is in progress, or has left tickets that it had taken to the next one.
        case draining
    }

    private(set) var phase = Phase.idle
    /// How many messages have tickets that the drain has not yet taken.
    private(set) var count = 0
    /// The newest ticket, to which more may be added.
    private var newest = Ticket.none
    /// The tickets before it.
    private var tickets = Queue<Ticket>()
    private var backlog = Backlog()

    mutating func append(_ listener: Unretained<ListenerEntry>) -> Arrival {
        count &+= 1
        if newest.address == listener.address {
            newest.count &+= 1
        } else {
            if newest.count > 0 { tickets.append(newest) }
            newest = Ticket(address: listener.address, count: 1)
        }
        guard phase == .idle else { return backlog.note(count) }
        phase = .scheduled
        return Arrival(starts: true)
    }

    /// Begins a turn. Returns false if the drain has ended meanwhile.
    mutating func beginTurn() -> Bool {
        guard phase == .scheduled else { return false }
        phase = .draining
        return true
    }

    /// Takes the oldest tickets, for at most this many calls. Returns false, with the lane idle, if there are none.
    mutating func take(_ most: Int, into taken: inout [Ticket]) -> Bool {
        var left = most
        while left > 0, let ticket = pop(most: left) {
            left -= ticket.count
            taken.append(ticket)
            // From an unbounded buffer, which drops nothing, everything is taken at once, after the last batch is used
            // up.
            ticket.mailbox.borrow { if $0.isUnbounded, $0.batch.isEmpty { $0.state.takeAll(into: &$0.batch) } }
        }
        guard taken.isEmpty else { return true }
        becomeIdle()
        return false
    }

    /// Ends a turn that has used all its tickets. Returns true if the lane is idle; otherwise another turn must follow.
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
        backlog.reset()
    }

    /// Removes the oldest ticket, or part of it.
    private mutating func pop(most: Int) -> Ticket? {
        let part = tickets.withFirst { first -> Ticket? in first.count > most ? first.removeFirst(most: most) : nil }
        // If there is no part, either there is no ticket or all of it is taken.
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

extension LaneState {
    /// What the drain of a lane has taken, and how much of it is used. Transitions only. They are made by the one
    /// drain, and those that take the lane's state are made under its lock.
    struct Taken {
        /// How the next turn begins.
        enum Pace {
            /// At once, because the lane was idle, and the message that started the job must not wait.
            case first
            /// After a brief wait for as many messages as one turn delivers.
            case steady
            /// With more messages than one turn delivers, because the last turn reached its limit of calls. Taking many
            /// at a time keeps the drain and the posters from contending for the lock.
            case behind
        }

        /// How many messages the drain takes at once when it is behind, and how many it waits for.
        static let mostGathered = 256

        private(set) var pace = Pace.first
        private var tickets: [LaneState.Ticket] = []
        /// The first ticket that is not used up.
        private var next = 0
        /// Listeners with tickets that are used but not settled; those tickets keep them alive.
        private(set) var unsettled: [Unretained<ListenerEntry>] = []
        /// How many messages had been taken in all when the drain last took some.
        private(set) var takenCount = 0

        /// The ticket whose turn it is; nil if all are used up.
        var current: LaneState.Ticket? { next < tickets.count ? tickets[next] : nil }

        /// How many messages, at most, the drain waits for before it takes some.
        var gathers: Int {
            switch pace {
            case .first: 0
            case .steady: DrainTurn.mostCalls
            case .behind: Self.mostGathered
            }
        }

        /// Marks messages of the current ticket as delivered or discarded, to be settled later.
        mutating func use(_ count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
            if mailbox.used == 0 { unsettled.append(ticket.listener) }
            mailbox.used += count
            if count == ticket.count { next += 1 } else { tickets[next].use(count) }
        }

        /// Takes tickets for this many calls, or more if the lane is behind. Called once the previous tickets are used
        /// up. Returns false, with the lane idle, if nothing waits. `arrived` is how many messages have ever arrived.
        mutating func take(from lane: inout LaneState, calls: Int, arrived: Int) -> Bool {
            tickets.removeAll(keepingCapacity: true)
            next = 0
            let hasMore = lane.take(pace == .behind ? Self.mostGathered : calls, into: &tickets)
            takenCount = arrived - lane.count
            if !hasMore { pace = .first } else if pace == .first { pace = .steady }
            return hasMore
        }

        mutating func settle(_ cleanup: inout PendingCleanup) {
            for listener in unsettled {
                listener.borrow { $0.knownMailbox }.borrow { mailbox in
                    cleanup.settle(mailbox.used, of: listener, mailbox)
                    mailbox.used = 0
                }
            }
            unsettled.removeAll(keepingCapacity: true)
        }

        /// Ends a turn although messages may still wait.
        mutating func endTurn(_ end: DrainTurn.End) { pace = end == .calls ? .behind : .steady }

        mutating func becomeIdle() { pace = .first }

        /// Whether only the current listener was called. Then nothing changes for posters, and no lock is needed.
        var isStillBusyWithOne: Bool {
            guard let current else { return false }
            return unsettled.allSatisfy { $0 == current.listener }
        }
    }
}
