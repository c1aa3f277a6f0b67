#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB
internal import Synchronization

/// One connection of a transport: who subscribes, and the task that hands out what the file has.
///
/// `state` is guarded by its lock, under which neither handlers nor the database are called. `look()` and what is in
/// `commands` run in one task, one after the other.
final class SQLiteSession: Sendable {
    /// A subscription of messages that are not durable.
    struct Plain {
        let pattern: ChannelPattern
        let group: String?
        /// It hears what has a higher number.
        let after: Int64
        let queue: HandlerQueue<InboundMessage>
    }

    /// A message that the members of a group may take, and when it was first seen.
    struct Shared: Sendable {
        let found: Found
        let seen: Double
    }

    struct Watched {
        let subject: String
        let queue: HandlerQueue<StoredValue>
        var seen: Int64 = 0
    }

    struct State {
        var plain: [Plain] = []
        var durable: [SQLiteDurableName] = []
        var watched: [Watched] = []
        /// The number of the last message that was looked at.
        var lastNumber: Int64 = 0
        var isLookPending = false
        /// When something was last found, by the uptime.
        var lastActivity = ContinuousClock.now
        /// From when on something may be delivered again.
        var due: Double?
        /// What the file said when it was last asked.
        var version: Int?
        var isClosed = false
        var nextBeat = ContinuousClock.now
        var nextPruning = ContinuousClock.now + .seconds(10)
        var turn = 0
        /// What the members of a group on this connection may take, in order.
        var shared: [String: [Shared]] = [:]
    }

    enum Command {
        case look
        case share(group: String)
        case run(@Sendable () -> Void)
    }

    /// How often the file is asked whether it has changed, soon after it has and later.
    private static let (shortest, longest) = (Duration.milliseconds(5), Duration.milliseconds(50))
    private static let portion = 500
    /// How long it waits after the file has failed.
    static let failurePause = Duration.seconds(1)

    let file: SQLiteFile
    /// How many durable messages could not be stored.
    private let unstored = Atomic<Int>(0)
    let configuration: SQLiteConfiguration
    /// Names this connection in the file.
    let holder: String
    private let events: HandlerQueue<TransportEvent>
    let state = Locked(State())
    let commands: AsyncStream<Command>.Continuation
    private let reading = Locked<Task<Void, Never>?>(nil)

    init(_ configuration: SQLiteConfiguration, _ events: HandlerQueue<TransportEvent>) async throws {
        self.configuration = configuration
        self.events = events
        holder = "\(ProcessInfo.processInfo.processIdentifier)-\(UInt64.random(in: .min ... .max))"
        let (stream, commands) = AsyncStream.makeStream(of: Command.self)
        self.commands = commands
        let bell = Bell()
        file = try await SQLiteFile.open(configuration) { bell.session?.ring() }
        bell.session = self
        let reading = Task.detached { [weak self] in
            for await command in stream {
                guard let self else { return }
                switch command {
                case .look: await self.look()
                case .share(let group): await self.share(group)
                case .run(let body): body()
                }
            }
        }
        self.reading.withLock { $0 = reading }
        // A thread of its own that sleeps costs a fifth of a task that does.
        Thread.detachNewThread { [weak self] in
            while let interval = self?.poll() { Thread.sleep(forTimeInterval: interval / .seconds(1)) }
        }
    }

    /// How the file finds the session, which keeps it.
    private final class Bell: Sendable {
        private struct Weak { weak var session: SQLiteSession? }
        private let weak = Locked(Weak())
        var session: SQLiteSession? {
            get { weak.withLock { $0.session } }
            set { weak.withLock { $0.session = newValue } }
        }
    }

    func fail(_ error: BridgeError) {
        events.enqueue(.failed(error))
        events.deliver()
    }

    /// Of what it does by itself; that it was closed meanwhile is no failure.
    func report(_ error: any Error) {
        if let error = error as? BridgeError, error.code != .closed { fail(error) }
    }

    /// Looks for messages soon.
    func ring() {
        let isFirst = state.withLock { state in
            defer { state.isLookPending = true }
            return !state.isLookPending
        }
        if isFirst { commands.yield(.look) }
    }

    /// Looks again at a time, for what may be delivered then.
    func ring(at due: Double) { state.withLock { $0.due = min($0.due ?? due, due) } }

    // MARK: Waking up

    /// Asks the file whether another process has changed it, and does what is due. Returns how long to wait for the
    /// next time; nil if it is closed.
    private func poll() -> Duration? {
        guard state.withLock({ !$0.isClosed }) else { return nil }
        do {
            if hasSubscriptions {
                let found = try file.version()
                let isNew = state.withLock { state in
                    guard state.version != found else { return false }
                    (state.version, state.lastActivity) = (found, .now)
                    return true
                }
                if isNew { ring() }
            }
            let now = ContinuousClock.now
            let (isDue, beats, prunes) = state.withLock { state in
                let isDue = state.due.map { $0 <= Timestamp.now.secondsSince1970 } ?? false
                let (beats, prunes) = (state.nextBeat <= now, !configuration.isObserver && state.nextPruning <= now)
                if isDue {
                    state.due = nil
                    for name in state.durable { name.lookAgain() }
                }
                if beats { state.nextBeat = now + configuration.acknowledgementWait / 3 }
                if prunes { state.nextPruning = now + .seconds(30) }
                return (isDue, beats, prunes)
            }
            if isDue { ring() }
            if beats { Task { await reporting { try await extendLeases() } } }
            if prunes { Task { await reporting { try await prune() } } }
        } catch { report(error) }
        return interval
    }

    private func reporting(_ body: () async throws -> Void) async {
        do { try await body() } catch { report(error) }
    }

    private var hasSubscriptions: Bool {
        state.withLock { !$0.plain.isEmpty || !$0.durable.isEmpty || !$0.watched.isEmpty }
    }

    private var interval: Duration {
        state.withLock { state in
            let isBusy = state.lastActivity.duration(to: .now) < .seconds(1)
            return isBusy ? Self.shortest : Self.longest
        }
    }

    /// While this process lives, nobody else is given what it holds.
    func extendLeases() async throws {
        try file.check()
        try await joinGroups()
        guard state.withLock({ $0.durable.contains { $0.heldCount > 0 } }) else { return }
        let (holder, lease) = (holder, lease)
        try await file.write { db in
            try db.execute(
                sql: "UPDATE channels_unsettled SET due = ? WHERE holder = ?",
                arguments: [Timestamp.now.secondsSince1970 + lease, holder]
            )
        }
    }

    /// For how many seconds what it takes stays its own, unless that is extended.
    var lease: Double { configuration.acknowledgementWait / .seconds(1) }

    private func prune() async throws {
        let retention = configuration.retention
        let used = state.withLock { $0.durable.map(\.id) }
        let (removed, lost) = try await file.write { db in
            let removed = try SQLiteRetention.removeNames(unusedFor: retention.age, but: used, db)
            return (removed, try SQLiteRetention.prune(db, retention))
        }
        var losses = removed.map { "no process has used the durable name \($0) for \(retention.age): it is removed" }
        if lost > 0 { losses.append("messages beyond the retention that a durable name had not settled: \(lost)") }
        for loss in losses { fail(BridgeError(.messagesLost, detail: "\(file.path): \(loss)")) }
    }

    // MARK: Publishing

    /// Stores a durable message. If it cannot be, those that came after it are not stored either, and whoever publishes
    /// them begins again with it: otherwise a smaller one could be, on a disk that is nearly full.
    func publish(_ message: TransportMessage, _ end: @escaping @Sendable (BridgeError?, _ isNew: Bool) -> Void) {
        let isNew = Locked(false)
        let before = unstored.load(ordering: .acquiring)
        file.write(
            { [self] db in
                guard unstored.load(ordering: .acquiring) == before else {
                    throw BridgeError(.transportFailure, detail: "an earlier message could not be stored")
                }
                let isInserted = try SQLiteSchema.insert(message, durable: true, db)
                isNew.withLock { $0 = isInserted }
            },
            { [self] error in
                if error != nil { unstored.wrappingAdd(1, ordering: .releasing) }
                end(error, isNew.withLock { $0 })
            }
        )
    }

    // MARK: Reading

    struct Found: Sendable {
        let number: Int64
        let subject: String
        let isDurable: Bool
        let time: Double
        /// Read only where somebody is to hear it.
        let message: TransportMessage?
    }

    private func look() async {
        state.withLock { $0.isLookPending = false }
        do {
            while true {
                let (last, patterns, isNeeded) = state.withLock { state in
                    (
                        state.lastNumber, state.plain.map(\.pattern),
                        !state.plain.isEmpty || !state.durable.isEmpty
                    )
                }
                guard isNeeded else { break }
                let found = try await file.read { try Self.find(after: last, patterns, $0) }
                guard let end = found.last?.number else { break }
                state.withLock { $0.lastNumber = end }
                let names = state.withLock { $0.durable }
                for subject in Set(found.lazy.filter(\.isDurable).map(\.subject)) {
                    for name in names where name.pattern.matches(subject) { name.lookAgain() }
                }
                await deliver(found)
                if found.count < Self.portion { break }
            }
            for name in state.withLock({ $0.durable }) where name.wantsMore { try await name.fetch(self) }
            try await deliverValues()
        } catch {
            report(error)
            ring(at: Timestamp.now.secondsSince1970 + Self.failurePause / .seconds(1))
        }
    }

    private static func find(after last: Int64, _ patterns: [ChannelPattern], _ db: Database) throws -> [Found] {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, headers, body, durable, time FROM channels_messages WHERE number > ?
                ORDER BY number LIMIT \(portion)
                """,
            arguments: [last]
        )
        var found: [Found] = []
        while let row = try rows.next() {
            let subject: String = row["subject"]
            let isHeard = patterns.contains { $0.matches(subject) }
            found.append(
                Found(
                    number: row["number"],
                    subject: subject,
                    isDurable: row["durable"],
                    time: row["time"],
                    message: isHeard ? TransportMessage(row) : nil
                )
            )
        }
        return found
    }

    private func deliver(_ found: [Found]) async {
        let plain = state.withLock { $0.plain }
        var reached: [HandlerQueue<InboundMessage>] = []
        var groups: [String: [Found]] = [:]
        for item in found {
            guard let message = item.message else { continue }
            for subscriber in plain where item.number > subscriber.after && subscriber.pattern.matches(item.subject) {
                if let group = subscriber.group {
                    if groups[group]?.last?.number != item.number { groups[group, default: []].append(item) }
                } else {
                    var inbound = InboundMessage(message)
                    inbound.storedAt = Timestamp(secondsSince1970: item.time)
                    subscriber.queue.enqueue(inbound)
                    reached.append(subscriber.queue)
                }
            }
        }
        for queue in reached { queue.deliver() }
        let now = Timestamp.now.secondsSince1970
        for (group, items) in groups {
            state.withLock { $0.shared[group, default: []] += items.map { Shared(found: $0, seen: now) } }
            await share(group)
        }
    }

    private func deliverValues() async throws {
        let subjects = Set(state.withLock { $0.watched.map(\.subject) })
        guard !subjects.isEmpty else { return }
        let values = try await file.read { db in
            try subjects.compactMap { try SQLiteValues.find($0, db) }
        }
        let reached = state.withLock { state in
            var reached: [HandlerQueue<StoredValue>] = []
            for value in values {
                for index in state.watched.indices
                where state.watched[index].subject == value.message.subject
                    && state.watched[index].seen < Int64(value.revision)
                {
                    state.watched[index].seen = Int64(value.revision)
                    state.watched[index].queue.enqueue(value)
                    reached.append(state.watched[index].queue)
                }
            }
            return reached
        }
        for queue in reached { queue.deliver() }
    }

    // MARK: Closing

    /// Returns why what waited was not stored, in time or at all.
    func close(within timeout: Duration) async -> BridgeError? {
        state.withLock { $0.isClosed = true }
        commands.finish()
        let (plain, durable, watched) = state.withLock { state in
            defer { (state.plain, state.durable, state.watched) = ([], [], []) }
            return (state.plain.map(\.queue), state.durable, state.watched.map(\.queue))
        }
        for queue in plain { await queue.close() }
        for name in durable { await name.queue.close() }
        for queue in watched { await queue.close() }
        let closed = FirstResult<BridgeError?>()
        Task.detached { [self] in
            await reading.withLock { $0 }?.value
            let holder = holder
            // What it had not settled is delivered to another at once.
            let error = await file.close { db in
                try Self.leaveGroups(holder, db)
                try db.execute(
                    sql: "UPDATE channels_unsettled SET due = 0, holder = NULL WHERE holder IN (?, ?)",
                    arguments: [holder, "\(holder) released"]
                )
            }
            closed.finish(.success(error))
        }
        let late = BridgeError(.timedOut, detail: "\(file.path): the file was locked, or slow")
        // In a task of its own: this one may be cancelled.
        let result = await Task { try await closed.value(within: timeout, clock: ContinuousClock(), else: late) }.result
        do { return try result.get() } catch { return BridgeError(error, path: file.path) }
    }
}
#endif
