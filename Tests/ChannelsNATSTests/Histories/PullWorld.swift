#if NATS
import ChannelsBridge
import TestSupport

@testable import ChannelsNATS

/// A durable consumer at a server, and one process that fetches from it: the client's side is the state of a
/// ``DurableSubscription``.
///
/// The server says whatever nats-server 2.9 to 2.12 may say, in any order that they allow.
final class PullWorld: SteppedWorld {
    private enum Upward { case request(PullState.Request), settled(UInt64), later(UInt64, Duration), progress(UInt64) }
    private enum Downward { case message(UInt64, count: Int), status(PullStatus, UInt64) }

    /// A request that the server has.
    private struct Waiting {
        let number: UInt64
        var left: Int
        var bytes: Int?
        let end: Instant
        var isServed = false
    }

    /// A message that the process handles.
    private struct Work {
        var due: Instant
        let reply: String
        let number: UInt64
        /// How often the connection had broken when it came.
        let breaks: Int
    }

    private static let wait = Duration.seconds(30)

    // The server. An old one (2.9) is silent about the end of a request that it has served in part, and about requests
    // to a consumer that it does not have. One with replicas (2.12) says that a batch is complete before its messages.
    private let isOld: Bool
    private let hasReplicas: Bool
    /// The size of each message, the first of which has the number 1.
    private var sizes: [Int] = []
    private var next: UInt64 = 1
    private var pending: [UInt64: (end: Instant, count: Int)] = [:]
    private var postponed: [(due: Instant, number: UInt64)] = []
    private var again: Set<UInt64> = []
    private var settled: Set<UInt64> = []
    private var waiting: [Waiting] = []
    private var isGone = false
    /// Whether the last request was over before it was complete.
    private var hasEndedEarly = false

    // The connection. Nothing overtakes anything.
    private var up: [(due: Instant, what: Upward)] = []
    private var down: [(due: Instant, what: Downward)] = []
    private var isConnected = true
    private var breaks = 0
    private var back: Instant?

    // The process.
    private let room: Room
    private let isSlow: Bool
    private var state: DurableSubscription.State
    private var works: [Work] = []
    private lazy var tick = start
    /// When the consumer will have been found.
    private var found: Instant?
    private var (requests, lookups) = (0, 0)
    /// Since when a message could be delivered, and none was.
    private var starved: Instant?

    override init(seed: Int) {
        (isOld, hasReplicas, isSlow) = (seed % 3 == 0, seed % 3 == 1, seed % 4 == 0)
        var random = SeededGenerator(seed: seed ^ 0x5EED)
        let bytes = [100, 1_000, 100_000].randomElement(using: &random)!
        room = Room(messages: Int.random(in: 1...8, using: &random), bytes: bytes)
        let unsettled = UnsettledMessages(acknowledgementWait: Self.wait)
        state = DurableSubscription.State(pull: PullState(room), largest: 5_000, unsettled: unsettled)
        super.init(seed: seed)
    }

    // MARK: What happens

    override func play() {
        update { state.pull.start() }
        for _ in 0..<number(20...150) {
            event()
            for _ in 0..<number(0...30) { step() }
        }
        isCalm = true
        note("calm")
        for place in works.indices { works[place].due = min(works[place].due, now + .seconds(1)) }
        run(for: .seconds(200)) { settled.count == sizes.count }
        check(settled.count == sizes.count, "\(sizes.count - settled.count) messages wait for ever: \(state.pull)")
        let (asked, looked) = (requests, lookups)
        run(for: .seconds(20)) { false }
        check(requests - asked <= 24, "\(requests - asked) requests in 20 idle seconds")
        check(lookups == looked, "the consumer is looked up without a reason")
        sizes.append(10)
        // The last request may be over, and the next one on its way.
        run(for: .milliseconds(1_800)) { settled.count == sizes.count }
        check(settled.count == sizes.count, "a message that comes after a pause is not asked for")
    }

    private func run(for time: Duration, until isDone: () -> Bool) {
        let end = now + time
        while !isDone(), now < end { step() }
    }

    private func event() {
        switch number(0...99) {
        case 0..<60:
            if sizes.count < 400 { for _ in 0..<number(1...4) { sizes.append(number(1...(chance(8) ? 200 : 40))) } }
        case 60..<63: breakOff()
        case 63..<66:
            note("the leader changes")
            for request in waiting { tell(.status(.lookUp, request.number)) }
            waiting = []
        case 66..<69:
            note("what was asked for is forgotten")
            waiting = []
        case 69..<71:
            note("the consumer is gone")
            (isGone, waiting) = (true, [])
        default: break
        }
    }

    private func breakOff() {
        guard isConnected else { return }
        note("the connection breaks")
        (isConnected, breaks, up, down, waiting, found) = (false, breaks + 1, [], [], [], nil)
        state.pull.stop()
        back = now + .milliseconds(number(1...3_000))
    }

    private func step() {
        let times = [up.first?.due, down.first?.due, tick, back, found, works.map(\.due).min()].compactMap { $0 }
        let next = min(times.min()!, now + .milliseconds(number(1...50)))  // there is always a tick
        now = next > now ? next : now + .milliseconds(1)
        if let back, back <= now {
            note("the connection is back")
            (isConnected, self.back) = (true, nil)
            needConsumer()
        }
        if let found, found <= now, isConnected {
            note("the consumer is found")
            (isGone, self.found) = (false, nil)
            let before = requests
            update { state.pull.start() }
            check(!state.pull.room.isEmpty || requests > before, "asks for nothing on another connection")
        }
        while let first = up.first, first.due <= now { arrives(up.removeFirst().what) }
        serve()
        while let first = down.first, first.due <= now { arrives(down.removeFirst().what) }
        finishWork()
        keepUp()
        checkThatNothingWaits()
    }

    /// Nothing waits at the server while there is room for it.
    private func checkThatNothingWaits() {
        let free = state.pull.room.free
        let isAskedFor = hasEndedEarly || free.messages * 2 >= room.limit && free.bytes * 2 >= room.byteLimit
        let fits = free.messages > 0 && isAskedFor && free.bytes >= (state.returned == nil ? 200 : state.largest)
        let isThere = !again.isEmpty || next <= sizes.count
        guard isConnected, found == nil, isThere, fits || state.pull.room.isEmpty else {
            starved = nil
            return
        }
        let since = starved ?? now
        starved = since
        // A consumer of which nothing is said is looked up after three requests.
        guard since.duration(to: now) > .milliseconds(isGone ? 5_000 : 2_800) else { return }
        check(false, "a message waits though there is room: \(state.pull)")
        starved = nil
    }

    // MARK: The server

    private func tell(_ what: Downward) { if isConnected { down.append((due(after: down.last?.due), what)) } }

    private func due(after last: Instant?) -> Instant { max(last ?? now, now + .milliseconds(number(0...60))) }

    private func arrives(_ what: Upward) {
        switch what {
        case .request(let request):
            hasEndedEarly = false
            guard !isGone else {
                if !isOld { tell(.status(.lookUp, request.number)) }
                return
            }
            let end = now + PullState.requestLife
            waiting.append(Waiting(number: request.number, left: request.messages, bytes: request.bytes, end: end))
            check(waiting.count == 1, "\(waiting.count) requests wait at the server")
            if !isCalm, chance(40) { tell(.status(.unknown, request.number)) }
            if hasReplicas, sizes.count - Int(next) + 1 >= request.messages { tell(.status(.nothing, request.number)) }
        case .settled(let number):
            if pending.removeValue(forKey: number) != nil { settled.insert(number) }
            again.remove(number)
            postponed.removeAll { $0.number == number }
        case .later(let number, let delay):
            guard let count = pending[number]?.count else { return }
            postponed.append((now + delay, number))
            pending[number] = (now + delay + .seconds(3_600), count)
        case .progress(let number): if let count = pending[number]?.count { pending[number] = (now + Self.wait, count) }
        }
    }

    private func serve() {
        for (due, number) in postponed where due <= now && pending[number] != nil { again.insert(number) }
        postponed.removeAll { $0.due <= now }
        for (number, message) in pending where message.end <= now { again.insert(number) }
        for request in waiting where request.end <= now {
            hasEndedEarly = true
            if !(isOld && request.isServed) { tell(.status(.over, request.number)) }
        }
        waiting.removeAll { $0.end <= now || isGone }
        while let request = waiting.first, let number = again.min() ?? (next <= sizes.count ? next : nil) {
            let size = sizes[Int(number) - 1]
            if let bytes = request.bytes, size > bytes {
                tell(.status(.tooLarge, waiting.removeFirst().number))
                continue
            }
            if again.remove(number) == nil { next += 1 }
            let count = (pending[number]?.count ?? 0) + 1
            pending[number] = (now + Self.wait, count)
            tell(.message(number, count: count))
            waiting[0].isServed = true
            waiting[0].left -= 1
            waiting[0].bytes = request.bytes.map { $0 - size }
            if waiting[0].left == 0 { waiting.removeFirst() }
        }
    }

    // MARK: The process, as DurableSubscription is one

    private func send(_ what: Upward) { if isConnected { up.append((due(after: up.last?.due), what)) } }

    private func update(_ body: () -> Void) {
        body()
        guard let request = state.nextRequest(now: now) else { return }
        requests += 1
        note("asks for \(request.messages), \(request.bytes ?? 0) bytes (\(request.number))")
        send(.request(request))
    }

    private func arrives(_ what: Downward) {
        switch what {
        case .message(let number, let count):
            note("gets \(number), \(count)")
            let isHandled = works.contains { $0.number == number && $0.breaks == breaks }
            check(!isHandled || isGone, "\(number) comes again while it is handled")
            let (reply, size) = ("$JS.ACK.S.c.\(count).\(number).\(log.count).0.0", sizes[Int(number) - 1])
            starved = nil
            update {
                state.unsettled.hold(reply, bytes: size)
                state.pull.received(bytes: size)
            }
            check(state.pull.room.count <= room.limit, "holds more than it may: \(state.pull)")
            check(
                state.pull.room.count < 2 || state.pull.room.bytes <= room.byteLimit,
                "holds more than it may: \(state.pull)"
            )
            let longest = isCalm ? 10 : isSlow ? 20_000 : chance(10) ? 40_000 : 200
            works.append(
                Work(due: now + .milliseconds(self.number(0...longest)), reply: reply, number: number, breaks: breaks)
            )
        case .status(let status, let number):
            note("hears \(status) (\(number))")
            var isLookedUp = false
            update { isLookedUp = state.pull.received(status, of: number) }
            if isLookedUp { needConsumer() }
        }
    }

    private func needConsumer() {
        lookups += 1
        state.pull.stop()
        found = max(found ?? now, now + .milliseconds(number(1...300)))
    }

    private func finishWork() {
        let done = works.filter { $0.due <= now }
        works.removeAll { $0.due <= now }
        for work in done {
            let kind = isCalm ? 0 : number(0...9)
            guard kind < 9 else {
                if let bytes = state.unsettled.letGo(work.reply) { settle(bytes, comesAgainAfter: Self.wait) }
                continue
            }
            guard let message = state.unsettled.take(work.reply) else { continue }
            let delay = kind == 8 ? Duration.milliseconds(number(1...2_000)) : nil
            send(delay.map { .later(work.number, $0) } ?? .settled(work.number))
            if message.released == nil { settle(message.bytes, comesAgainAfter: delay) }
        }
    }

    private func settle(_ bytes: Int, comesAgainAfter delay: Duration?) {
        update { state.settled(bytes: bytes, comesAgainAfter: delay, now: now) }
    }

    private func keepUp() {
        guard tick <= now else { return }
        let (held, report) = state.unsettled.takeOverdue(now: now)
        for reply in held { if let number = Delivery(reply)?.streamSequence { send(.progress(number)) } }
        var (end, isUnavailable) = (Instant?.none, false)
        update { (end, isUnavailable) = state.pull.expire(now: now) }
        if isUnavailable { needConsumer() }
        tick = max(now + .milliseconds(1), min(end ?? now + PullState.requestLife, report))
    }
}
#endif
