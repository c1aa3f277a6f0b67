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
        /// The listener's, or 0 where there is no ticket. Kept by its list, and once it has left that, by
        /// ``Mailbox/listenerHasLeft(_:)``, until it has no ticket any more.
        fileprivate let address: UInt
        /// The number of the first message, see ``MailboxState``.
        fileprivate(set) var number: Int
        fileprivate(set) var count: UInt32
        /// Who posted the messages, if that was on the lane's own actor; otherwise 0.
        let poster: UInt16
        /// How many calls of lanes led to the messages, one inside the other; with ``LaneState/free``, too.
        let depth: UInt16

        fileprivate static var none: Ticket { Ticket(address: 0, number: 0, count: 0, poster: 0, depth: 0) }

        /// Those of the messages.
        var numbers: Range<Int> { number..<(number + Int(count)) }

        /// There are no tickets of nobody where this is asked.
        @inline(__always)
        var listener: Unretained<ListenerEntry> { Unretained(address: address)! }

        /// Kept by the listener. Those without a mailbox get no tickets.
        @inline(__always)
        var mailbox: Unretained<Mailbox> { listener.borrow { $0.certainMailbox } }

        /// So many messages have been delivered, or have gone.
        @inline(__always)
        mutating func removeFirst(_ count: Int) {
            number &+= count
            self.count -= UInt32(count)
        }

        /// Splits the first messages off.
        @inline(__always)
        fileprivate mutating func removeFirst(most: Int) -> Ticket {
            var first = self
            first.count = UInt32(min(Int(count), most))
            removeFirst(Int(first.count))
            return first
        }
    }

    /// What is to be done for listeners that have no ticket any more, once the lock is released.
    struct Leaving {
        /// Those that have left their list. Nil as long as there are none: an empty array is counted.
        private(set) var listeners: [Unretained<ListenerEntry>]?
        /// How many own messages will not be delivered.
        var ownCount = 0

        @inline(__always)
        fileprivate mutating func add(_ listener: Unretained<ListenerEntry>, _ mailbox: Mailbox) {
            mailbox.isBusy.store(false, ordering: .releasing)
            // The last one: where no post can see the listener, nothing is let in from here on.
            if mailbox.state.hasLeft, mailbox.state.leave() { listeners = (listeners ?? []) + [listener] }
        }

        /// Runs user code: the deinit of what closures captured.
        func leave() {
            guard let listeners else { return }
            for listener in listeners {
                listener.borrow { $0.freeBody() }
                // Balances the retain in `Mailbox.listenerHasLeft`.
                listener.release()
            }
        }
    }

    enum Phase { case idle, scheduled, draining }

    private(set) var phase = Phase.idle
    /// The newest, to which more may be added; of nobody where there is none.
    private var newest = Ticket.none
    /// How many messages have tickets.
    private(set) var count = 0
    /// Those before it.
    private var tickets = Queue<Ticket>()
    /// Those before them, which have been looked at since ``isCompacting``.
    private var kept = Queue<Ticket>()
    /// Whether stale tickets are being removed.
    private(set) var isCompacting = false
    /// How many may be stale.
    private var staleCount = 0
    /// Who has posted the messages of tickets that have a poster.
    var ownPosters = OwnPosters()
    /// What waits because of calls that lanes make.
    private(set) var fanOut = FanOut(most: 1 << 23)
    /// Added to the depth of messages that cost nothing: those of a buffer with a bound.
    static let free: UInt16 = 1 << 15

    // MARK: Posting

    /// Whether one more message may wait to which so many calls of lanes have led. Messages to which none or one
    /// has led always may.
    @inline(__always)
    mutating func hasRoom(depth: UInt16) -> Bool { depth < 2 || hasRoomDeep(depth: depth) }

    private mutating func hasRoomDeep(depth: UInt16) -> Bool {
        // All that waited has been delivered, and nobody takes anything before something waits again.
        if phase == .idle { fanOut.recoverIfFree() }
        return fanOut.hasRoom(depth: Int(depth))
    }

    /// How many messages have had no room since there were too many.
    var refused: Int { fanOut.refused }

    /// From here on there is no room, until all that waits and costs something has been delivered.
    mutating func exhaust() { fanOut.exhaust() }

    /// Adds the ticket of a message that a mailbox has let in. True if the drain is to be started.
    @inline(__always)
    mutating func append(
        _ listener: Unretained<ListenerEntry>,
        _ number: Int,
        from poster: UInt16,
        depth: UInt16
    ) -> Bool {
        count &+= 1
        if depth > 2, depth < Self.free { fanOut.add(depth: Int(depth)) }
        if newest.address == listener.address, newest.poster == poster, newest.depth == depth, newest.count < .max {
            newest.count &+= 1
        } else {
            begin(Ticket(address: listener.address, number: number, count: 1, poster: poster, depth: depth))
        }
        guard phase == .idle else { return false }
        phase = .scheduled
        return true
    }

    private mutating func begin(_ ticket: Ticket) {
        if newest.count > 0 { tickets.append(newest) }
        newest = ticket
    }

    // MARK: Removing stale tickets

    private static let mostStale = 64
    /// How many tickets are looked at for each message dropped.
    private static let looksPerDrop = 16

    /// Some tickets have become stale. Where they are more than half of all, they are removed, so that what
    /// is dropped or discarded takes no memory while the lane stands still: a few at a time, because posters
    /// wait for the lock.
    mutating func noteStale(_ number: Int, _ leaving: inout Leaving) {
        staleCount += number
        if !isCompacting { compactIfWorthwhile() }
        compact(Self.looksPerDrop, &leaving)
    }

    private mutating func compactIfWorthwhile() {
        guard staleCount > Self.mostStale, staleCount * 2 > count else { return }
        staleCount = 0
        isCompacting = true
    }

    /// Looks at some of the tickets that have not been looked at, and removes those that are stale.
    ///
    /// - Returns: Whether there are more.
    @discardableResult
    mutating func compact(_ looks: Int, _ leaving: inout Leaving) -> Bool {
        guard isCompacting else { return false }
        for _ in 0..<looks {
            guard var ticket = tickets.popFirst() else { break }
            removeStale(of: &ticket, &leaving)
            if ticket.count > 0 { kept.append(ticket) }
        }
        guard tickets.isEmpty else { return true }
        isCompacting = false
        swap(&tickets, &kept)
        if newest.count > 0 {
            var ticket = newest
            removeStale(of: &ticket, &leaving)
            newest = ticket.count > 0 ? ticket : .none
        }
        // Some may have become stale after they were looked at.
        compactIfWorthwhile()
        return isCompacting
    }

    private mutating func removeStale(of ticket: inout Ticket, _ leaving: inout Leaving) {
        let before = ticket.count
        ticket.mailbox.borrow { skipStale(of: &ticket, $0, &leaving) }
        removeCounted(Int(before - ticket.count), of: ticket)
    }

    /// So many messages of a ticket do not wait here any more.
    @inline(__always)
    private mutating func removeCounted(_ count: Int, of ticket: Ticket) {
        self.count -= count
        if ticket.depth > 2, ticket.depth < Self.free { fanOut.remove(count, depth: Int(ticket.depth)) }
    }

    /// Gives the stale tickets up that come first.
    @inline(__always)
    private mutating func skipStale(of ticket: inout Ticket, _ mailbox: Mailbox, _ leaving: inout Leaving) {
        let skipped = mailbox.state.skipTickets(Int(ticket.count), from: ticket.number)
        guard skipped > 0 else { return }
        if ticket.poster != 0 {
            ownPosters.remove(skipped, of: ticket.poster)
            leaving.ownCount += mailbox.state.removeOwn(skipped)
        }
        ticket.removeFirst(skipped)
        if mailbox.state.tickets == 0 { leaving.add(ticket.listener, mailbox) }
    }

    // MARK: Delivering

    private static let mostLooks = 256

    /// The drain begins a turn. False if it has ended meanwhile.
    mutating func beginTurn() -> Bool {
        guard phase == .scheduled else { return false }
        phase = .draining
        return true
    }

    /// So many calls for a listener have ended.
    @inline(__always)
    mutating func settle(_ listener: Unretained<ListenerEntry>, count: Int, _ leaving: inout Leaving) {
        listener.borrow { $0.certainMailbox }.borrow { mailbox in
            let isLast = mailbox.state.settle(count, holdsBatch: !mailbox.batch.isEmpty)
            if isLast { leaving.add(listener, mailbox) }
        }
    }

    /// Takes the oldest tickets, for so many calls at most. Where there are none, the turn ends and the lane
    /// is idle. Passes over so many stale ones that the lock is not held for long; then it may have taken
    /// none and is to be called again.
    ///
    /// - Returns: Whether the turn goes on.
    mutating func take(_ most: Int, into taken: inout [Ticket], _ leaving: inout Leaving) -> Bool {
        // What was taken before has been delivered.
        if fanOut.isExhausted { fanOut.recoverIfFree() }
        var left = most
        for _ in 0..<Self.mostLooks {
            guard left > 0, var ticket = pop(most: left) else { break }
            ticket.mailbox.borrow { mailbox in
                skipStale(of: &ticket, mailbox, &leaving)
                // From an unbounded buffer everything at once: nothing is dropped from it.
                if mailbox.takesAll, mailbox.batch.isEmpty { mailbox.state.takeAll(into: &mailbox.batch) }
            }
            guard ticket.count > 0 else { continue }
            left -= Int(ticket.count)
            taken.append(ticket)
        }
        guard taken.isEmpty, count == 0 else { return true }
        phase = .idle
        return false
    }

    /// The drain ends a turn, and has used all it had taken. True if the lane is idle; otherwise there is to be
    /// another turn.
    mutating func endTurn() -> Bool {
        phase = count == 0 ? .idle : .scheduled
        return phase == .idle
    }

    /// Whether what the drain has taken is its own: a turn is under way, or has left something for the next.
    var isDraining: Bool { phase == .draining }

    /// The listener whose turn it is.
    var next: Unretained<ListenerEntry>? {
        if let first = kept.first ?? tickets.first { return first.listener }
        return newest.count > 0 ? newest.listener : nil
    }

    /// Removes the oldest, or a part of it.
    @inline(__always)
    private mutating func pop(most: Int) -> Ticket? {
        if let ticket = kept.pop(most: most) ?? tickets.pop(most: most) {
            removeCounted(Int(ticket.count), of: ticket)
            return ticket
        }
        guard newest.count > 0 else { return nil }
        let ticket = newest.removeFirst(most: most)
        if newest.count == 0 { newest = .none }
        removeCounted(Int(ticket.count), of: ticket)
        return ticket
    }
}

extension Queue<LaneState.Ticket> {
    /// Removes the first ticket, or a part of it.
    @inline(__always)
    fileprivate mutating func pop(most: Int) -> LaneState.Ticket? {
        let part = withFirst { first -> LaneState.Ticket? in
            Int(first.count) > most ? first.removeFirst(most: most) : nil
        }
        // With no part, there is none or it is taken whole.
        return (part ?? nil) ?? popFirst()
    }
}
