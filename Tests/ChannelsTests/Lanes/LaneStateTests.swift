import Synchronization
import Testing

@testable import Channels

/// The transitions of a lane, of its drain and of its mailboxes, without threads, against a list of what waits.
struct LaneStateTests {
    /// Posts, turns, calls and cancellations as the seed has it. What was let in and neither dropped nor
    /// discarded is called in the order posted, and every account adds up, after each step.
    @Test(arguments: Seed.first(200))
    func theLaneCallsCountsAndHoldsWhatTheModelSays(seed: Seed) {
        var run = Run(seed: seed.number)
        for _ in 0..<300 {
            run.step()
            guard run.check() else { return }
        }
        run.finish()
        _ = run.check(atEnd: true)
    }

    @Test func aLaneSaysThatTooManyWaitWheneverTheyHaveDoubled() {
        let layout = MessageLayout(Int.self)
        let mailbox = Mailbox(Lane(.mainActor), layout, .newest(1))
        let entry = ListenerEntry(
            .waitsInLane,
            owner: nil,
            route: mailbox,
            site: PackedSite(#fileID, #line),
            call: .nothing
        )
        var state = LaneState()
        var backlogs: [Int] = []
        for number in 1...(1 << 21) + 1 where state.append(Unretained(entry)).isBacklog {
            backlogs.append(number)
        }
        #expect(backlogs == [(1 << 20) + 1, (1 << 21) + 1])
    }
}

/// One listener of a run, and what the model knows of it.
private struct Member {
    let entry: ListenerEntry
    let mailbox: Mailbox
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
    }

    private let seed: Int
    private var random: SeededGenerator
    private var state = LaneState()
    private var drain = LaneState.Taken()
    private var members: [Member] = []
    /// The model: what waits, oldest first.
    private var waiting: [Waiting] = []
    private var jobs = 0
    private var inTurn = false
    private var arrived = 0
    private var message = 0
    private var problem: String?

    init(seed: Int) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        for _ in 0..<5 { register() }
    }

    private mutating func register() {
        let limit = Int.random(in: 1...4, using: &random)
        let policy: BufferingPolicy = [.unbounded, .newest(limit), .oldest(limit)].randomElement(using: &random)!
        let mailbox = Mailbox(Lane(.mainActor), MessageLayout(Int.self), policy)
        let call = BareCall { _, _, _ in }
        let site = PackedSite(#fileID, #line)
        let entry = ListenerEntry(.waitsInLane, owner: nil, route: mailbox, site: site, call: call)
        members.append(Member(entry: entry, mailbox: mailbox))
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
        case 36: for index in members.indices where members[index].mustDiscard { discard(index) }
        default: beginTurn()
        }
    }

    private mutating func post(to index: Int) {
        let mailbox = members[index].mailbox
        // `cancel` sets the bit first; what has left no post can see.
        guard !members[index].isCancelled, !members[index].hasLeft, !mailbox.state.isDead else { return }
        message += 1
        members[index].posted += 1
        var displaced: DisplacedMessage?
        let admission = MessageAddress.lending(message) {
            mailbox.state.admit(for: members[index].entry, copying: $0, nil, displaced: &displaced)
        }
        let waits = Waiting(member: index, message: message)
        switch admission {
        case .refused: Issue.record("a living listener was refused")
        case .dropped: members[index].dropped += 1
        case .replaces:
            members[index].dropped += 1
            // Each of those that wait moves one place forward, and the new one has the last.
            let places = waiting.indices.filter { waiting[$0].member == index }
            for (place, next) in zip(places, places.dropFirst()) { waiting[place] = waiting[next] }
            if let last = places.last { waiting[last] = waits } else { problem = "nothing was replaced" }
        case .waits:
            arrived += 1
            if state.append(Unretained(members[index].entry)).starts { jobs += 1 }
            waiting.append(waits)
        }
    }

    /// Cancels, or the owner goes. What waits is discarded at once, or later.
    private mutating func cancel(_ index: Int) {
        members[index].isCancelled = true
        members[index].entry.insert(.cancelled)
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
        mailbox.state.end(into: &discarded, keepsTickets: true)
        // Otherwise the drain discards it.
        if state.phase != .draining || !inTurn { swap(&mailbox.batch, &batch) }
    }

    /// No post can see the listener any more.
    private mutating func leave(_ index: Int) {
        guard !members[index].hasLeft else { return }
        members[index].hasLeft = true
        if members[index].mailbox.state.leave() {
            members[index].isFreed = true
        } else {
            Unretained(members[index].entry).retain()
        }
    }

    private mutating func beginTurn() {
        guard jobs > 0 else { return }
        jobs -= 1
        inTurn = true
        // What the turn before has left.
        guard drain.current == nil else { return }
        if !state.beginTurn() { problem = "a job found the lane idle" }
    }

    private mutating func deliver(most: Int) {
        guard inTurn else { return }
        for _ in 0..<most {
            if drain.current == nil {
                settle()
                let calls = Int.random(in: 1...64, using: &random)
                guard drain.take(from: &state, calls: calls, arrived: arrived) else {
                    inTurn = false
                    return
                }
            }
            useOne()
            if Int.random(in: 0..<3, using: &random) == 0 { settle() }
        }
    }

    private mutating func useOne() {
        guard let ticket = drain.current,
            let index = members.firstIndex(where: { Unretained($0.entry) == ticket.listener })
        else {
            problem = "a ticket of nobody"
            return
        }
        let mailbox = members[index].mailbox
        guard !members[index].isCancelled else {
            // As the drain does.
            mailbox.batch.discardAll()
            return drain.use(ticket.count, of: ticket, mailbox)
        }
        if mailbox.isUnbounded, mailbox.batch.isEmpty { mailbox.state.takeAll(into: &mailbox.batch) }
        let heard = MessageAddress.receiving(as: Int.self) { place in
            guard !mailbox.isUnbounded else {
                guard !mailbox.batch.isEmpty else { return false }
                _ = mailbox.batch.moveFirst(to: place)
                return true
            }
            var envelope: Envelope?
            return mailbox.state.takeFirst(into: place, &envelope)
        }
        drain.use(1, of: ticket, mailbox)
        guard let heard else {
            problem = "a ticket of a living listener without a message"
            return
        }
        mailbox.countDelivered()
        members[index].called += 1
        let expected = waiting.isEmpty ? nil : waiting.removeFirst()
        if expected?.member != index || expected?.message != heard {
            problem = "listener \(index) is called with \(heard), not \(String(describing: expected))"
        }
    }

    private mutating func settle() {
        let called = drain.unsettled
        var cleanup = PendingCleanup()
        drain.settle(&cleanup)
        for listener in called {
            guard let index = members.firstIndex(where: { Unretained($0.entry) == listener }) else { continue }
            let member = members[index]
            guard member.hasLeft, member.mailbox.state.tickets == 0 else { continue }
            if member.isFreed { problem = "listener \(index) is freed twice" }
            members[index].isFreed = true
        }
        cleanup.run()
    }

    private mutating func endTurn() {
        guard inTurn else { return }
        settle()
        inTurn = false
        drain.endTurn(Bool.random(using: &random) ? .calls : .time)
        guard drain.current == nil, state.endTurn() else {
            jobs += 1
            return
        }
        drain.becomeIdle()
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
        if jobs != (state.phase == .idle || inTurn ? 0 : 1) {
            problems.append("\(jobs) jobs, \(state.phase), in a turn: \(inTurn)")
        }
        if state.phase == .idle, state.count > 0 || drain.current != nil { problems.append("idle with tickets") }
        if state.phase == .idle, drain.gathers != 0 { problems.append("a drain that waits at its first turn") }
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
            if tickets - member.mailbox.used < waits || !member.isCancelled && tickets - member.mailbox.used > waits {
                problems.append("listener \(index): \(tickets) tickets for \(waits) messages")
            }
            if state.phase == .idle, tickets > 0 {
                problems.append("listener \(index): \(tickets) tickets in an idle lane")
            }
            if member.isFreed, tickets > 0 || !member.hasLeft { problems.append("listener \(index) is freed early") }
            if atEnd, tickets > 0 || waits > 0 || !member.isFreed || !member.mailbox.batch.isEmpty {
                problems.append("listener \(index) is not freed at the end")
            }
        }
        if atEnd, state.count != 0 { problems.append("\(state.count) tickets") }
        if !problems.isEmpty { Issue.record("seed \(seed): \(problems)") }
        return problems.isEmpty
    }
}
