/// What the drain of a lane has taken, and how much of it is used. Transitions only: they belong to the one
/// drain, and those that take the lane's state are made under its lock.
struct DrainState {
    /// How the next turn begins.
    enum Pace {
        /// At once: the lane was idle, and the message that started the job must not wait.
        case first
        /// After a brief wait for as many messages as a turn makes calls.
        case steady
        /// The last turn reached its limit of calls, so the drain takes more messages than one turn delivers.
        /// Taking many at a time keeps the drain and the posters from contending for the lock.
        case behind
    }

    /// How many messages the drain takes at once when it is behind, and how many it waits for.
    static let mostGathered = 256

    private(set) var pace = Pace.first
    private var tickets: [LaneState.Ticket] = []
    /// The first ticket that is not used up.
    private var next = 0
    /// Listeners with tickets used but not settled; those tickets retain them.
    private(set) var called: [Unretained<ListenerEntry>] = []
    /// How many messages had ever been taken when the drain last took some.
    private(set) var takenCount = 0

    /// The ticket whose turn it is; nil if all are used up.
    @inline(__always)
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
    @inline(__always)
    mutating func use(_ count: Int, of ticket: LaneState.Ticket, _ mailbox: Mailbox) {
        if mailbox.used == 0 { called.append(ticket.listener) }
        mailbox.used += count
        if count == ticket.count { next += 1 } else { tickets[next].use(count) }
    }

    /// Takes tickets for so many calls, or more if the lane is behind, once the former are used up. Returns
    /// false, with the lane idle, if nothing waits. `arrived`: how many messages have ever arrived.
    mutating func take(from lane: inout LaneState, calls: Int, arrived: Int) -> Bool {
        tickets.removeAll(keepingCapacity: true)
        next = 0
        let hasMore = lane.take(pace == .behind ? Self.mostGathered : calls, into: &tickets)
        takenCount = arrived - lane.count
        if !hasMore { pace = .first } else if pace == .first { pace = .steady }
        return hasMore
    }

    mutating func settle(_ cleanup: inout PendingCleanup) {
        for listener in called {
            listener.borrow { $0.certainMailbox }.borrow { mailbox in
                cleanup.settle(mailbox.used, of: listener, mailbox)
                mailbox.used = 0
            }
        }
        called.removeAll(keepingCapacity: true)
    }

    /// Ends a turn although messages may still wait.
    mutating func endTurn(_ end: DrainTurn.End) { pace = end == .calls ? .behind : .steady }

    mutating func becomeIdle() { pace = .first }

    /// Whether only the current listener was called: posters see no change, so no lock is needed.
    var isStillBusyWithOne: Bool {
        guard let current else { return false }
        return called.allSatisfy { $0 == current.listener }
    }
}
