/// What the drain of a lane has taken, and how far it has come.
///
/// Only transitions. They belong to the drain, of which there is one at a time; those that take the lane's state are
/// made under its lock.
struct DrainState {
    /// How the next turn begins.
    enum Pace {
        /// At once: the lane was idle, and the message that started the job is not to wait.
        case first
        /// After a short look whether as many messages are coming as a turn makes calls.
        case steady
        /// The turn before made as many calls as it may, so more messages are taken than one turn delivers. Taking many
        /// at a time keeps the drain and the posters from contending for the lock.
        case behind
    }

    /// How many messages the drain takes at once when it is behind, and how many it waits for.
    static let mostGathered = 256

    private(set) var pace = Pace.first
    private var tickets: [LaneState.Ticket] = []
    /// The first of them that has not been used up.
    private var next = 0
    /// The listeners for which tickets have been used and not settled: retained by these tickets.
    private(set) var called: [Unretained<ListenerEntry>] = []
    /// How many messages had ever been taken when the drain last took some.
    private(set) var takenCount = 0

    /// The ticket whose turn it is; nil where what was taken is used up.
    @inline(__always)
    var current: LaneState.Ticket? { next < tickets.count ? tickets[next] : nil }

    /// How many messages the drain waits for, at most, before it takes some; 0 where it does not wait.
    var gathers: Int {
        switch pace {
        case .first: 0
        case .steady: DrainTurn.mostCalls
        case .behind: Self.mostGathered
        }
    }

    /// So many messages of the current ticket have been delivered, or have gone. To be settled later.
    @inline(__always)
    mutating func use(_ count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
        if mailbox.used == 0 { called.append(ticket.listener) }
        mailbox.used += count
        if count == ticket.count { next += 1 } else { tickets[next].use(count) }
    }

    /// Takes tickets for so many calls, or more if the lane is behind. What was taken before has been used up.
    ///
    /// - Parameter arrived: How many messages have ever come.
    /// - Returns: False if nothing waits: the lane is idle then.
    mutating func take(from lane: inout LaneState, calls: Int, arrived: Int) -> Bool {
        tickets.removeAll(keepingCapacity: true)
        next = 0
        let hasMore = lane.take(pace == .behind ? Self.mostGathered : calls, into: &tickets)
        takenCount = arrived - lane.count
        if !hasMore { pace = .first } else if pace == .first { pace = .steady }
        return hasMore
    }

    /// Settles what has been used.
    mutating func settle(_ cleanup: inout PendingCleanup) {
        for listener in called {
            listener.borrow { $0.certainMailbox }.borrow { mailbox in
                cleanup.settle(mailbox.used, of: listener, mailbox)
                mailbox.used = 0
            }
        }
        called.removeAll(keepingCapacity: true)
    }

    /// A turn ends for a reason other than that nothing waits.
    mutating func endTurn(_ end: DrainTurn.End) { pace = end == .calls ? .behind : .steady }

    /// The lane is idle after all.
    mutating func becomeIdle() { pace = .first }

    /// Whether the one listener that was called has more to hear of what was taken: then nothing has changed for
    /// those who post, and the turn ends without the lock.
    var isStillBusyWithOne: Bool {
        guard let current else { return false }
        return called.allSatisfy { $0 == current.listener }
    }
}
