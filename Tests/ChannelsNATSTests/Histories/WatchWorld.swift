#if NATS
import ChannelsBridge
import TestSupport

@testable import ChannelsNATS

/// A bucket of last values at a server, and one process that watches it: the client's side is ``WatchState`` and
/// ``Bucket``.
final class WatchWorld: SteppedWorld {
    private enum Upward { case look(Int), create(String, Int), delete(String) }
    private enum Reply { case stream(StreamIdentity, age: Int), created(UInt64) }
    /// A message on the subject of the watch. `age` says how often the bucket had been replaced.
    private struct Message {
        var subject = ""
        var value = 0
        var age = 0
        var delivery: Delivery?
        var lastDelivered: UInt64?
        var isFirst = false
    }
    private struct Stored {
        var sequence: UInt64
        var value: Int
        var isFirst: Bool
    }
    private struct Consumer {
        /// What it has not sent.
        var pending: [(subject: String, stored: Stored)]
        var sent: UInt64 = 0
        /// For which of the watches: each has its own subject.
        let watch: Int
        var lastSent: Instant
    }
    private enum Flow { case idle, looking(Int, Bucket.Mark, end: Instant), creating(Int, end: Instant) }

    // The server.
    private let subjects: [String]
    /// Whether the process may ask for the bucket. If not, nobody replaces it.
    private let looks: Bool
    /// Whether hardly anything is stored.
    private let isQuiet: Bool
    private var (created, age, lastSequence, lastValue) = (0, 0, UInt64(0), 0)
    private var values: [String: Stored] = [:]
    private var copy: (values: [String: Stored], lastSequence: UInt64)?
    /// Nothing is stored after a restore until the process has noticed it: it has only the last sequence to notice it by.
    private var isUnnoticed = false
    private var consumers: [String: Consumer] = [:]
    private var creations = 0

    // The connection. Answers and messages are received by two threads.
    private var up: [(due: Instant, what: Upward)] = []
    private var replies: [(due: Instant, number: Int, what: Reply)] = []
    private var down: [(due: Instant, what: Message)] = []
    private var isConnected = true
    private var changes: Instant?

    // The process.
    private var lastNumber = 0
    private let bucket = Bucket()
    private var state: WatchState
    private var flow = Flow.idle
    private var opens = 0
    /// Whether it is opening, what was stored then, and when it gives up.
    private var opening: (stored: [String: Stored], age: Int, end: Instant?)?
    private var reopens: Instant?
    private lazy var heartbeat = start + WatchState.heartbeat
    private lazy var look = start + .seconds(5)
    private var looking: (number: Int, mark: Bucket.Mark, losses: Int)?
    private var handed: [String: (value: Int, sequence: UInt64, age: Int, bucket: Int)] = [:]
    /// Whether the loss of what was handed over last was told.
    private var isLossTold = false

    override init(seed: Int) {
        (subjects, looks, isQuiet) = (seed % 2 == 0 ? ["a"] : ["a", "b", "c"], seed % 8 < 6, seed % 3 == 0)
        state = WatchState(bucket, isOfMany: subjects.count > 1)
        super.init(seed: seed)
    }

    // MARK: What happens

    override func play() {
        for _ in 0..<number(0...3) { store() }
        open()
        for _ in 0..<number(10...80) {
            event()
            for _ in 0..<number(0...40) { step() }
        }
        note("calm")
        isCalm = true
        if !isConnected { changes = now }
        run(for: .seconds(60))
        if !looks {
            breakOff()
            run(for: .seconds(30))
        }
        check(opening == nil && reopens == nil, "is not open")
        checkValues()
        let before = creations
        run(for: .seconds(60))
        check(creations == before, "\(creations - before) consumers are created in an idle minute")
        check(consumers.count == 1, "the server has \(consumers.count) consumers")
        check(state.consumers.count == 1, "\(state.consumers.count) consumers are to be deleted")
        store()
        run(for: .seconds(1))
        checkValues()
    }

    private func run(for time: Duration) {
        let end = now + time
        while now < end { step() }
    }

    private func checkValues() {
        for subject in subjects {
            if let stored = values[subject] {
                check(
                    handed[subject]?.value == stored.value,
                    "ends with another value of \(subject) than \(stored.value)"
                )
            } else if handed[subject] != nil, subjects.count == 1 {
                // Of many, one that goes while another comes is not noticed: the bucket says only how many there are.
                check(isLossTold, "the loss of \(subject) is not told")
            }
        }
    }

    private func event() {
        switch number(0...99) {
        case 0..<45: if !isQuiet || chance(10) { store() }
        case 45..<54:
            let subject = subjects.randomElement(using: &random)!
            note("the value of \(subject) is removed")
            values[subject] = nil
            for name in consumers.keys { consumers[name]!.pending.removeAll { $0.subject == subject } }
        case 54..<57:
            note("the server restarts")
            consumers = [:]
        case 57..<60:
            guard looks else { return }
            note("the bucket is made anew")
            (created, age, lastSequence, values, consumers, copy) = (created + 1, age + 1, 0, [:], [:], nil)
        case 60..<63: copy = (values, lastSequence)
        case 63..<66:
            guard looks, let copy, copy.lastSequence < lastSequence else { return }
            note("an older copy is restored")
            (values, lastSequence, age, consumers, isUnnoticed) = (copy.values, copy.lastSequence, age + 1, [:], true)
        case 66..<80: if isConnected { breakOff() }
        default: break
        }
    }

    private func store() {
        guard !isUnnoticed else { return }
        let subject = subjects.randomElement(using: &random)!
        (lastSequence, lastValue) = (lastSequence + 1, lastValue + 1)
        let stored = Stored(sequence: lastSequence, value: lastValue, isFirst: values[subject] == nil)
        note("\(subject) is \(lastValue), \(lastSequence)")
        values[subject] = stored
        for name in consumers.keys { consumers[name]!.pending.append((subject, stored)) }
    }

    private func breakOff() {
        note("the connection breaks")
        (isConnected, up, replies, down) = (false, [], [], [])
        changes = now + .milliseconds(number(1...(isCalm || !chance(5) ? 500 : 15_000)))
    }

    private func step() {
        let next = [up.first?.due, down.first?.due, replies.map(\.due).min(), changes].compactMap { $0 }.min()
        now = max(now + .milliseconds(1), min(next ?? now + .seconds(60), now + .milliseconds(number(1...50))))
        if let changes, changes <= now {
            note("the connection is back")
            (isConnected, self.changes) = (true, nil)
            restart()
        }
        while let first = up.first, first.due <= now { arrives(up.removeFirst().what) }
        serve()
        // Two threads.
        for isMessage in [true, false].shuffled(using: &random) {
            if isMessage {
                while let first = down.first, first.due <= now { arrives(down.removeFirst().what) }
            } else {
                while let place = replies.indices.filter({ replies[$0].due <= now }).randomElement(using: &random) {
                    answered(replies.remove(at: place))
                }
            }
        }
        keepUp()
    }

    private func due(after last: Instant?) -> Instant {
        max(last ?? now, now + .milliseconds(number(0...(isCalm || !chance(30) ? 30 : 3_000))))
    }

    // MARK: The server

    private func arrives(_ what: Upward) {
        switch what {
        case .look(let number):
            let created = "\(created)"
            let found = StreamIdentity(created: created, lastSequence: lastSequence, subjects: values.count)
            reply(number, .stream(found, age: age))
        case .create(let name, let number):
            let pending = values.sorted { $0.value.sequence < $1.value.sequence }.map { ($0.key, $0.value) }
            consumers[name] = Consumer(pending: pending, watch: opens, lastSent: now)
            creations += 1
            if opening != nil, opening?.end == nil { opening = (values, age, nil) }
            reply(number, .created(UInt64(pending.count)))
        case .delete(let name): consumers[name] = nil
        }
    }

    private func reply(_ number: Int, _ what: Reply) { replies.append((due(after: nil), number, what)) }

    private func serve() {
        // Without its subscriber, a consumer stays for ten seconds.
        let reached = consumers.filter { isConnected && $0.value.watch == opens }.keys.sorted()
        consumers = consumers.filter { reached.contains($0.key) || $0.value.lastSent + .seconds(10) > now }
        for name in reached {
            while let (subject, stored) = consumers[name]!.pending.first, isCalm || !chance(4) {
                consumers[name]!.pending.removeFirst()
                consumers[name]!.sent += 1
                consumers[name]!.lastSent = now
                let delivery = Delivery("$JS.ACK.KV.\(name).1.\(stored.sequence).\(consumers[name]!.sent).1.0")!
                tell(
                    Message(
                        subject: subject,
                        value: stored.value,
                        age: age,
                        delivery: delivery,
                        isFirst: stored.isFirst
                    )
                )
            }
            if consumers[name]!.lastSent + WatchState.heartbeat <= now {
                consumers[name]!.lastSent = now
                tell(Message(lastDelivered: consumers[name]!.sent))
            }
        }
    }

    /// A slow process loses some.
    private func tell(_ message: Message) {
        if isCalm || !chance(20) { down.append((due(after: down.last?.due), message)) }
    }

    // MARK: The process, as LastValueWatch and Session are one

    private func send(_ what: Upward) { if isConnected { up.append((due(after: up.last?.due), what)) } }

    private func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    private func open() {
        note("opens")
        opens += 1
        (opening, handed) = (([:], age, nil), [:])
        lookUp()
    }

    private func restart() { if state.begin() { lookUp() } }

    private func lookUp() {
        state.prepare()
        let number = nextNumber()
        flow = .looking(number, bucket.mark, end: now + .seconds(5))
        send(.look(number))
    }

    private func create() {
        let number = nextNumber()
        for old in state.request("w\(number)") { send(.delete(old)) }
        note("creates w\(number)")
        flow = .creating(number, end: now + .seconds(5))
        send(.create("w\(number)", number))
    }

    private func answered(_ reply: (due: Instant, number: Int, what: Reply)) {
        switch (reply.what, flow) {
        case (.stream(let found, let age), .looking(reply.number, let mark, _)):
            identify(found, age, mark)
            create()
        case (.created(let count), .creating(reply.number, _)):
            note("has created w\(reply.number): \(count)")
            if state.created(count: count) {
                note("the value is lost")
                check(handed["a"]?.value != values["a"]?.value, "the loss of a value that is there is told")
                isLossTold = true
            }
            if opening != nil { opening?.end = count > 0 ? now + .seconds(5) : now }
            ended()
        case (.stream(let found, let age), _):
            guard let looking, looking.number == reply.number else { return }
            identify(found, age, looking.mark)
            if bucket.losses != looking.losses { restart() }
        default: break
        }
    }

    private func identify(_ found: StreamIdentity, _ age: Int, _ mark: Bucket.Mark) {
        if looks, bucket.identify(found, known: mark) {
            note("values are lost")
            isLossTold = true
        }
        if age == self.age { isUnnoticed = false }
    }

    private func ended() {
        flow = .idle
        if !state.hasBegun(now) { lookUp() }
    }

    private func arrives(_ message: Message) {
        let step = state.received(
            message.delivery,
            lastDelivered: message.lastDelivered,
            isFirst: message.isFirst,
            now
        )
        switch step {
        case .ignore: return
        case .restart: return restart()
        case .skip: break
        case .handOver:
            let (last, sequence) = (handed[message.subject], message.delivery!.streamSequence)
            note("gets \(message.value) of \(message.subject)")
            if let last {
                check(last.age <= message.age, "a value of the former bucket comes after one of the new")
                let isLater = last.age < message.age || last.bucket < bucket.replacements || last.sequence < sequence
                check(isLater, "an older value, or the same one, comes after \(last.value)")
            }
            (handed[message.subject], isLossTold) = ((message.value, sequence, message.age, bucket.replacements), false)
        }
        state.handed(step)
    }

    private func keepUp() {
        if let end = opening?.end, state.isComplete || end <= now { opened() }
        if let reopens, reopens <= now, isConnected {
            self.reopens = nil
            state = WatchState(bucket, isOfMany: subjects.count > 1)
            open()
        }
        switch flow {
        case .looking(_, _, let end) where end <= now, .creating(_, let end) where end <= now:
            if opening == nil { return ended() }
            fail("no answer")
        default: break
        }
        if heartbeat <= now {
            heartbeat = now + WatchState.heartbeat
            if opening == nil, reopens == nil, isConnected, state.isSilent(now) { restart() }
        }
        if look <= now {
            look = now + .seconds(5)
            looking = (nextNumber(), bucket.mark, bucket.losses)
            send(.look(looking!.number))
        }
    }

    private func opened() {
        guard let opening else { return }
        if !state.isComplete { return fail("the values do not arrive") }
        for (subject, stored) in opening.stored where opening.age == age && values[subject]?.value == stored.value {
            check(handed[subject]?.value == stored.value, "has opened without the value of \(subject)")
        }
        note("is open")
        self.opening = nil
    }

    private func fail(_ reason: String) {
        note("does not open: \(reason)")
        state.close()
        for name in state.consumers { send(.delete(name)) }
        (flow, opening, reopens) = (.idle, nil, now + .seconds(1))
    }
}
#endif
