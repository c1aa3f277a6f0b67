import Synchronization
import Testing

@testable import Channels

/// The transitions of a lane and of its mailboxes, without threads, against a list of what waits.
struct LaneStateTests {
    /// Posts, turns, calls and cancellations as the seed has it. What was let in and neither dropped nor
    /// discarded is called in the order posted, and every account adds up, after each step.
    @Test(arguments: 0..<200)
    func theLaneCallsCountsAndHoldsWhatTheModelSays(seed: Int) {
        var run = Run(seed: seed)
        for _ in 0..<300 {
            run.step()
            guard run.check() else { return }
        }
        run.finish()
        _ = run.check(atEnd: true)
    }
}

/// One listener of a run, and what the model knows of it.
private struct Member {
    let entry: ListenerEntry
    let mailbox: Mailbox
    let isBounded: Bool
    var isCancelled = false
    /// Whether what waits for it is still to be discarded.
    var mustDiscard = false
    var hasLeft = false
    var isFreed = false
    var posted = 0
    var called = 0
    var dropped = 0
    var discarded = 0
}

/// A lane that is driven step by step. What ``Lane`` does around the transitions is repeated here.
private struct Run: ~Copyable {
    private struct Waiting: Equatable {
        var member: Int
        var message: Int
        /// The task of the lane's actor that posted it, or 0.
        var task: Int
    }

    private let seed: Int
    private var random: SeededGenerator
    private var state = LaneState()
    private var members: [Member] = []
    /// The model: what waits, oldest first.
    private var waiting: [Waiting] = []
    private var jobs = 0
    private var inTurn = false
    private var taken: [LaneState.Ticket] = []
    private var used = 0
    private var calls = 0
    private var message = 0
    private var problem: String?
    /// Messages posted on the lane's own actor whose tickets are in the lane.
    private var ownWaiting = 0

    init(seed: Int) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        for _ in 0..<5 { register() }
    }

    private mutating func register() {
        let limit = Int.random(in: 1...4, using: &random)
        let policy: BufferingPolicy = [.unbounded, .newest(limit), .oldest(limit)].randomElement(using: &random)!
        let mailbox = Mailbox(nil, MessageLayout(Int.self), policy)
        let call = BareCall { _, _, _ in }
        let site = PackedSite(#fileID, #line)
        let entry = ListenerEntry(bits: ListenerEntry.waits, owner: nil, counters: mailbox, site: site, call: call)
        members.append(Member(entry: entry, mailbox: mailbox, isBounded: policy.kind != .unbounded))
    }

    // MARK: Steps

    mutating func step() {
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<18: post(to: Int.random(in: members.indices, using: &random))
        case 18: for _ in 0..<100 { post(to: Int.random(in: members.indices, using: &random)) }
        case 19: cancel(Int.random(in: members.indices, using: &random))
        case 20: leave(Int.random(in: members.indices, using: &random))
        case 21 where members.count < 12: register()
        case 22..<32: deliver(most: Int.random(in: 1...20, using: &random))
        case 32..<36: endTurn()
        case 36: Bool.random(using: &random) ? compact() : state.exhaust()
        case 37: for index in members.indices where members[index].mustDiscard { discard(index) }
        default: beginTurn()
        }
    }

    private mutating func post(to index: Int) {
        let mailbox = members[index].mailbox
        // `cancel` sets the bit first; what has left no post can see.
        guard !members[index].isCancelled, !members[index].hasLeft, !mailbox.state.isDead else { return }
        message += 1
        members[index].posted += 1
        let task = max(0, Int.random(in: -6...3, using: &random))
        var isFirst = false
        var displaced: DisplacedMessage?
        let admission = MessageAddress.lending(message) {
            mailbox.state.admit(copying: $0, nil, isFirst: &isFirst, displaced: &displaced)
        }
        if case .dropped = admission {
            members[index].dropped += 1
            return
        }
        if isFirst { mailbox.isBusy.store(true, ordering: .releasing) }
        if task != 0 {
            ownWaiting += 1
            mailbox.state.countOwn()
        }
        let poster = task == 0 ? 0 : state.ownPosters.add(task)
        let depth = UInt16.random(in: 0...12, using: &random)
        let number = mailbox.state.letIn - 1
        if state.append(Unretained(members[index].entry), number, from: poster, depth: depth) { jobs += 1 }
        if case .replaces = admission {
            members[index].dropped += 1
            // What was taken at once can no longer be dropped: only bounded buffers drop.
            if let oldest = waiting.firstIndex(where: { $0.member == index }) { waiting.remove(at: oldest) }
            var leaving = LaneState.Leaving()
            state.noteStale(1, &leaving)
            leave(leaving)
        }
        waiting.append(Waiting(member: index, message: message, task: task))
    }

    /// Cancels, or the owner goes. What waits is discarded at once, or later.
    private mutating func cancel(_ index: Int) {
        members[index].isCancelled = true
        members[index].entry.word.bitwiseOr(ListenerEntry.cancelled, ordering: .sequentiallyConsistent)
        members[index].mustDiscard = true
        waiting.removeAll { $0.member == index }
        if Bool.random(using: &random) { discard(index) }
    }

    private mutating func discard(_ index: Int) {
        let mailbox = members[index].mailbox
        members[index].mustDiscard = false
        members[index].discarded = members[index].posted - members[index].called - members[index].dropped
        var discarded = MessageQueue(mailbox.layout)
        var batch = MessageQueue(mailbox.layout)
        var leaving = LaneState.Leaving()
        let (stale, own) = mailbox.state.end(into: &discarded)
        ownWaiting -= own
        // Otherwise the drain discards it.
        if !state.isDraining || !inTurn { mailbox.state.end(batch: &mailbox.batch, into: &batch) }
        state.noteStale(stale, &leaving)
        leave(leaving)
    }

    /// A canceller looks at a portion of the tickets. Others have the lock in between.
    private mutating func compact() {
        var leaving = LaneState.Leaving()
        state.compact(Int.random(in: 1...50, using: &random), &leaving)
        leave(leaving)
    }

    /// No post can see the listener any more.
    private mutating func leave(_ index: Int) {
        guard !members[index].hasLeft else { return }
        members[index].hasLeft = true
        if members[index].mailbox.state.leave() {
            free(members[index].entry)
        } else {
            Unretained(members[index].entry).retain()
        }
    }

    private mutating func beginTurn() {
        guard jobs > 0 else { return }
        jobs -= 1
        inTurn = true
        // What the turn before has left.
        guard taken.isEmpty else { return }
        if !state.beginTurn() { problem = "a job found the lane idle" }
    }

    private mutating func deliver(most: Int) {
        guard inTurn else { return }
        for _ in 0..<most {
            if taken.isEmpty {
                var leaving = LaneState.Leaving()
                let goesOn = state.take(Int.random(in: 1...64, using: &random), into: &taken, &leaving)
                leave(leaving)
                guard goesOn else {
                    inTurn = false
                    return
                }
                // All that was looked at was stale.
                guard !taken.isEmpty else { continue }
            }
            useOne()
            if Int.random(in: 0..<3, using: &random) == 0 { settle() }
        }
    }

    private mutating func useOne() {
        let ticket = taken[0]
        guard let index = members.firstIndex(where: { Unretained($0.entry) == ticket.listener }) else {
            problem = "a ticket of nobody"
            return
        }
        let mailbox = members[index].mailbox
        if members[index].isCancelled {
            // As the drain does.
            mailbox.batch.discardAll()
            noteUsed(Int(ticket.count) - used, of: ticket)
            used = Int(ticket.count)
            return settle()
        }
        if mailbox.takesAll, mailbox.batch.isEmpty { mailbox.state.takeAll(into: &mailbox.batch) }
        var count = 1
        let heard = MessageAddress.receiving(as: Int.self) { place in
            guard !mailbox.takesAll else {
                guard !mailbox.batch.isEmpty else { return false }
                _ = mailbox.batch.moveFirst(to: place)
                return true
            }
            var envelope: Envelope?
            let numbers = ticket.numbers.dropFirst(used)
            let taken = mailbox.state.takeFirst(of: numbers, into: place, &envelope)
            count = taken.used
            return taken.hasMessage
        }
        used += count
        noteUsed(count, of: ticket)
        if let heard {
            mailbox.countDelivered()
            members[index].called += 1
            let expected = waiting.isEmpty ? nil : waiting.removeFirst()
            if expected?.member != index || expected?.message != heard {
                problem = "listener \(index) is called with \(heard), not \(String(describing: expected))"
            }
        } else if mailbox.takesAll {
            problem = "a ticket of an unbounded mailbox without a message"
        }
        if used == ticket.count { settle() }
    }

    private mutating func noteUsed(_ count: Int, of ticket: LaneState.Ticket) {
        guard ticket.poster != 0 else { return }
        state.ownPosters.remove(count, of: ticket.poster)
        ownWaiting -= ticket.mailbox.borrow { $0.state.removeOwn(count) }
    }

    private mutating func settle() {
        guard used > 0 else { return }
        var leaving = LaneState.Leaving()
        state.settle(taken[0].listener, count: used, &leaving)
        taken[0].removeFirst(used)
        if taken[0].count == 0 { taken.removeFirst() }
        used = 0
        leave(leaving)
    }

    private mutating func endTurn() {
        guard inTurn else { return }
        settle()
        inTurn = false
        if !taken.isEmpty || !state.endTurn() { jobs += 1 }
    }

    // MARK: Leaving

    private mutating func leave(_ leaving: LaneState.Leaving) {
        ownWaiting -= leaving.ownCount
        for listener in leaving.listeners ?? [] {
            free(listener.object)
            // Balances the retain in `leave(_:)`.
            listener.release()
        }
    }

    private mutating func free(_ entry: ListenerEntry) {
        guard let index = members.firstIndex(where: { $0.entry === entry }) else { return }
        if members[index].isFreed { problem = "listener \(index) is freed twice" }
        members[index].isFreed = true
    }

    // MARK: Checks

    mutating func finish() {
        for index in members.indices where members[index].mustDiscard { discard(index) }
        for index in members.indices { leave(index) }
        while state.phase != .idle {
            beginTurn()
            deliver(most: 100)
            endTurn()
        }
    }

    mutating func check(atEnd: Bool = false) -> Bool {
        var problems = problem.map { [$0] } ?? []
        let own = waiting.count { $0.task != 0 }
        // What a full buffer drops still counts until its ticket is skipped, and what is to be discarded until then.
        let hasDropped = members.contains {
            $0.mailbox.state.policy.kind == .newest && $0.dropped > 0 || $0.mustDiscard
        }
        if ownWaiting < own || ownWaiting > own && !hasDropped {
            problems.append("\(ownWaiting) own messages are said to wait, and \(own) do")
        }
        for task in 1...3 {
            let isFound = state.ownPosters.contains(task)
            if !isFound, waiting.contains(where: { $0.task == task }) { problems.append("\(task) is forgotten") }
            if isFound, state.count == 0, taken.isEmpty { problems.append("\(task) is remembered") }
        }
        if jobs != (state.phase == .idle || inTurn ? 0 : 1) {
            problems.append("\(jobs) jobs, \(state.phase), in a turn: \(inTurn)")
        }
        if state.phase == .idle, state.count > 0 || !taken.isEmpty { problems.append("idle with tickets") }
        // Stale ones are removed when they are more than half, and more than a few.
        let held = members.reduce(0) {
            $0 + ($1.mailbox.state.mayHoldBatch || $1.mustDiscard ? $1.mailbox.state.tickets : 0)
        }
        let live = waiting.count + held
        if !state.isCompacting, state.count > max(2 * live, live + 64) {
            problems.append("\(state.count) tickets for \(live) messages")
        }
        for (index, member) in members.enumerated() {
            let accounts = member.mailbox.accounts
            let waits = waiting.count { $0.member == index }
            let expected = (member.posted, member.called, waits, member.dropped, member.discarded)
            let found = (accounts.posted, accounts.delivered, accounts.waiting, accounts.dropped, accounts.discarded)
            if expected != found, !member.mustDiscard {
                problems.append("listener \(index): \(found), expected \(expected)")
            }
            if member.isCancelled, !member.mustDiscard, !member.mailbox.state.incoming.isEmpty {
                problems.append("listener \(index): not all that waits is discarded")
            }
            let tickets = member.mailbox.state.tickets
            if tickets < waits { problems.append("listener \(index): \(tickets) tickets for \(waits) messages") }
            if member.mailbox.isBusy.load(ordering: .relaxed) != (tickets > 0) {
                problems.append("listener \(index): busy with \(tickets) tickets")
            }
            if member.isFreed, tickets > 0 || !member.hasLeft { problems.append("listener \(index) is freed early") }
            if atEnd, tickets > 0 || waits > 0 || !member.isFreed || !member.mailbox.batch.isEmpty {
                problems.append("listener \(index) is not freed at the end")
            }
        }
        if state.phase == .idle, !state.hasRoom(depth: 2) { problems.append("an idle lane has no room") }
        if state.count == 0, !state.fanOut.isFree { problems.append("nothing waits, and costs something") }
        if atEnd, ownWaiting != 0 || state.count != 0 { problems.append("\(ownWaiting) own, \(state.count) tickets") }
        if !problems.isEmpty { Issue.record("seed \(seed): \(problems)") }
        return problems.isEmpty
    }
}
