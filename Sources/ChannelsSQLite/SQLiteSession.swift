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
    private struct Plain {
        let pattern: ChannelPattern
        let group: String?
        /// It hears what has a higher number.
        let after: Int64
        let queue: HandlerQueue<InboundMessage>
    }

    private struct Watched {
        let subject: String
        let queue: HandlerQueue<StoredValue>
        var seen: Int64 = 0
    }

    private struct State {
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
        var turn = 0
        /// What the members of a group on this connection may take, in order.
        var shared: [String: [Found]] = [:]
    }

    private enum Command {
        case look
        case share(group: String)
        case run(@Sendable () -> Void)
    }

    /// How often the file is asked whether it has changed, soon after it has and later.
    private static let (shortest, longest) = (Duration.milliseconds(5), Duration.milliseconds(50))
    private static let portion = 500
    /// How many messages a member of a group takes at a time, and how long it leaves those that are not its first choice to
    /// others. So all members get some, also where one always looks first.
    private static let (mostClaimed, patience) = (16, Duration.milliseconds(3))

    let file: SQLiteFile
    let configuration: SQLiteConfiguration
    /// Names this connection in the file.
    let holder: String
    private let events: HandlerQueue<TransportEvent>
    private let state = Locked(State())
    private let commands: AsyncStream<Command>.Continuation
    private let tasks = Locked<[Task<Void, Never>]>([])

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
                case .share(let group): await self.share(group, isPatient: false)
                case .run(let body): body()
                }
            }
        }
        let polling = Task.detached { [weak self] in await Self.poll { self } }
        tasks.withLock { $0 = [reading, polling] }
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

    /// Asks the file whether another process has changed it, and does what is due.
    private static func poll(_ find: () -> SQLiteSession?) async {
        var version: Int?
        var nextBeat = ContinuousClock.now
        var nextPruning = ContinuousClock.now + .seconds(10)
        while !Task.isCancelled {
            guard let interval = find()?.interval else { return }
            try? await Task.sleep(for: interval)
            guard let session = find(), !Task.isCancelled else { return }
            do {
                if session.hasSubscriptions {
                    let found = try await session.file.version()
                    if found != version {
                        version = found
                        session.state.withLock { $0.lastActivity = .now }
                        session.ring()
                    }
                }
                if session.state.withLock({ $0.due.map { $0 <= Timestamp.now.secondsSince1970 } }) == true {
                    session.state.withLock { state in
                        state.due = nil
                        for name in state.durable { name.lookAgain() }
                    }
                    session.ring()
                }
                if nextBeat <= .now {
                    nextBeat = .now + session.configuration.acknowledgementWait / 3
                    try await session.extendLeases()
                }
                if nextPruning <= .now {
                    nextPruning = .now + .seconds(30)
                    try await session.prune()
                }
            } catch let error as BridgeError {
                // The file may be closed.
                if error.code != .closed, !Task.isCancelled { session.fail(error) }
                try? await Task.sleep(for: .seconds(1))
            } catch {}
        }
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
    private func extendLeases() async throws {
        guard state.withLock({ $0.durable.contains { $0.heldCount > 0 } }) else { return }
        let (holder, due) = (holder, leaseEnd)
        try await file.write { db in
            try db.execute(
                sql: "UPDATE channels_unsettled SET due = ? WHERE holder = ?",
                arguments: [due, holder]
            )
        }
    }

    var leaseEnd: Double { Timestamp.now.secondsSince1970 + configuration.acknowledgementWait / .seconds(1) }

    private func prune() async throws {
        let retention = configuration.retention
        let lost = try await file.write { try SQLiteRetention.prune($0, retention) }
        guard lost > 0 else { return }
        fail(
            BridgeError(
                .messagesLost,
                detail: "\(file.path): \(lost) messages that a durable name had not settled were beyond the retention"
            )
        )
    }

    // MARK: Reading

    private struct Found: Sendable {
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
            var durableSubjects: Set<String> = []
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
                try await deliver(found)
                for message in found where message.isDurable { durableSubjects.insert(message.subject) }
                if found.count < Self.portion { break }
            }
            for name in state.withLock({ $0.durable }) {
                let isMatched = durableSubjects.contains { name.pattern.matches($0) }
                if isMatched || name.wantsMore { try await name.fetch(self) }
            }
            try await deliverValues()
        } catch let error as BridgeError {
            if error.code != .closed { fail(error) }
        } catch {}
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

    private func deliver(_ found: [Found]) async throws {
        let plain = state.withLock { $0.plain }
        var reached: [HandlerQueue<InboundMessage>] = []
        var groups: [String: [Found]] = [:]
        for item in found {
            guard let message = item.message else { continue }
            for subscriber in plain where item.number > subscriber.after && subscriber.pattern.matches(item.subject) {
                if let group = subscriber.group {
                    if groups[group]?.last?.number != item.number { groups[group, default: []].append(item) }
                } else {
                    subscriber.queue.enqueue(InboundMessage(message))
                    reached.append(subscriber.queue)
                }
            }
        }
        for queue in reached { queue.deliver() }
        for (group, items) in groups {
            let isFirst = state.withLock { state in
                let isFirst = state.shared[group, default: []].isEmpty
                state.shared[group, default: []] += items
                return isFirst
            }
            // Otherwise somebody waits already.
            if isFirst { await share(group, isPatient: true) }
        }
    }

    /// Takes those of a group's messages that no other member has taken, in order: at first those that are this one's first
    /// choice, up to the next that is not.
    private func share(_ group: String, isPatient: Bool) async {
        let items = state.withLock { state -> [Found] in
            let items = state.shared[group] ?? []
            let chosen = isPatient ? items.prefix { isFirstChoice($0.number) } : items.prefix(max(Self.mostClaimed, items.count / 32))
            state.shared[group] = Array(items.dropFirst(chosen.count))
            return Array(chosen)
        }
        do { try await take(items, in: group) } catch {
            if let error = error as? BridgeError, error.code != .closed { fail(error) }
        }
        guard state.withLock({ $0.shared[group]?.isEmpty == false }) else { return }
        Task {
            try? await Task.sleep(for: Self.patience)
            commands.yield(.share(group: group))
        }
    }

    /// About half of all messages, others for each connection.
    private func isFirstChoice(_ number: Int64) -> Bool {
        var hasher = Hasher()
        hasher.combine(holder)
        hasher.combine(number)
        return hasher.finalize() & 1 == 0
    }

    private func take(_ items: [Found], in group: String) async throws {
        guard !items.isEmpty else { return }
        let numbers = items.map(\.number)
        let claimed = try await file.write { db in
            let statement = try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO channels_claims (group_name, number) VALUES (?, ?)"
            )
            return try numbers.filter { number in
                try statement.execute(arguments: [group, number])
                return db.changesCount > 0
            }
        }
        let mine = Set(claimed)
        for item in items where mine.contains(item.number) {
            guard let message = item.message else { continue }
            let queue = state.withLock { state -> HandlerQueue<InboundMessage>? in
                let members = state.plain.filter {
                    $0.group == group && item.number > $0.after && $0.pattern.matches(item.subject)
                }
                state.turn += 1
                return members.isEmpty ? nil : members[state.turn % members.count].queue
            }
            queue?.enqueue(InboundMessage(message))
            queue?.deliver()
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

    // MARK: Subscribing

    func subscribe(_ pattern: ChannelPattern, group: String?, _ queue: HandlerQueue<InboundMessage>) async throws {
        let last = try await file.read { try SQLiteSchema.lastNumber($0) }
        await betweenLooks { state in
            if state.plain.isEmpty && state.durable.isEmpty { state.lastNumber = last }
            state.plain.append(Plain(pattern: pattern, group: group, after: last, queue: queue))
        }
    }

    func subscribe(_ name: SQLiteDurableName) async throws {
        try await name.join(self)
        let last = try await file.read { try SQLiteSchema.lastNumber($0) }
        await betweenLooks { state in
            if state.plain.isEmpty && state.durable.isEmpty { state.lastNumber = last }
            state.durable.append(name)
        }
    }

    func watch(_ subject: String, _ queue: HandlerQueue<StoredValue>) async throws {
        let value = try await file.read { try SQLiteValues.find(subject, $0) }
        if let value {
            queue.enqueue(value)
            queue.deliver()
        }
        await betweenLooks { state in
            state.watched.append(Watched(subject: subject, queue: queue, seen: Int64(value?.revision ?? 0)))
        }
    }

    /// Ends the subscriptions that are not durable, and waits for their handlers.
    func drain() async {
        let queues = Locked<[HandlerQueue<InboundMessage>]>([])
        await betweenLooks { state in
            queues.withLock { $0 = state.plain.map(\.queue) }
            (state.plain, state.shared) = ([], [:])
        }
        for queue in queues.withLock({ $0 }) { await queue.finish() }
    }

    /// Changes who subscribes, between two looks at the file: otherwise a message could be passed over for one who comes
    /// during a look. Then looks.
    private func betweenLooks(_ change: @escaping @Sendable (inout State) -> Void) async {
        await withCheckedContinuation { continuation in
            let result = commands.yield(
                .run {
                    self.state.withLock { state in
                        change(&state)
                        state.lastActivity = .now
                    }
                    continuation.resume()
                }
            )
            if case .terminated = result { continuation.resume() }
        }
        ring()
    }

    func close() async -> BridgeError? {
        for task in tasks.withLock({ $0 }) { task.cancel() }
        commands.finish()
        for task in tasks.withLock({ $0 }) { await task.value }
        let (plain, durable, watched) = state.withLock { state in
            defer { (state.plain, state.durable, state.watched) = ([], [], []) }
            return (state.plain.map(\.queue), state.durable, state.watched.map(\.queue))
        }
        for queue in plain { await queue.close() }
        for name in durable { await name.queue.close() }
        for queue in watched { await queue.close() }
        let holder = holder
        // What it had not settled is delivered to another at once.
        return await file.close { db in
            try db.execute(
                sql: "UPDATE channels_unsettled SET due = 0, holder = NULL WHERE holder IN (?, ?)",
                arguments: [holder, "\(holder) released"]
            )
        }
    }
}
#endif
