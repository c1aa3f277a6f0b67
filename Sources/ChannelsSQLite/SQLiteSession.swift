#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// One connection of a transport: its subscriptions, and the task that delivers the messages of the file.
///
/// A cycle of that task: (1) it is woken, because this or another connection has committed something; (2) it
/// reads new messages; (3) it delivers states and messages that are not durable; (4) the durable names that
/// have room take their messages, in one transaction.
///
/// `state` is guarded by its lock, under which neither handlers nor the database are called. The `commands`
/// run in one task, one after the other.
final class SQLiteSession: Sendable {
    /// A subscription of messages that are not durable.
    struct Plain {
        let pattern: ChannelPattern
        let group: ExactText?
        /// It receives messages with a higher number.
        var after: Int64
        let queue: HandlerQueue<InboundMessage>
    }

    struct Watched {
        let subject: ExactText
        let queue: HandlerQueue<StoredValue>
        var seen: Int64 = 0
        var body: [UInt8]?
    }

    struct State {
        var plain: [Plain] = []
        var durable: [SQLiteDurableName] = []
        var watched: [Watched] = []
        /// How often the file had been restored when the subscriptions started.
        var epoch = 0
        /// The number of the last message that was looked at.
        var lastNumber: Int64 = 0
        var isLookPending = false
        var isClosed = false
        var waking = Waking()
        var turn = 0
        /// The messages that members of a group on this connection may take, in order.
        var shared: [ExactText: [Shared]] = [:]
        /// The offset added to the revisions of the file, so that they increase after it was restored; and
        /// the highest so far.
        var revisions: (base: UInt64, highest: UInt64) = (0, 0)
    }

    enum Command {
        case look
        case share(group: ExactText)
        case beginAgain
        case run(@Sendable () -> Void)
    }

    private static let portion = 500

    let file: SQLiteFile
    let configuration: SQLiteConfiguration
    let state = Locked(State())
    let commands: AsyncStream<Command>.Continuation
    private let events: HandlerQueue<TransportEvent>
    /// The sign of life of this connection, once it subscribes.
    private let member = Locked<SQLiteMember?>(nil)
    private let reading = Locked<Task<Void, Never>?>(nil)

    init(_ configuration: SQLiteConfiguration, _ events: HandlerQueue<TransportEvent>) async throws {
        self.configuration = configuration
        self.events = events
        let (stream, commands) = AsyncStream.makeStream(of: Command.self)
        self.commands = commands
        let owner = Owner()
        file = try await SQLiteFile.open(configuration) { owner.session?.take($0) }
        owner.session = self
        let reading = Task.detached { [weak self] in
            for await command in stream {
                guard let self else { return }
                switch command {
                case .look: await self.look()
                case .share(let group): await self.share(group)
                case .beginAgain: await self.beginAgain()
                case .run(let body): body()
                }
            }
        }
        self.reading.withLock { $0 = reading }
        // A sleeping thread costs a fifth of a sleeping task.
        Thread.detachNewThread { [weak self] in
            while let interval = self?.poll() { Thread.sleep(forTimeInterval: interval / .seconds(1)) }
        }
    }

    /// Lets the file find the session, which keeps it alive.
    private final class Owner: Sendable {
        private struct Weak { weak var session: SQLiteSession? }
        private let weak = Locked(Weak())
        var session: SQLiteSession? {
            get { weak.withLock { $0.session } }
            set { weak.withLock { $0.session = newValue } }
        }
    }

    // MARK: Events

    func tell(_ event: TransportEvent) {
        events.enqueue(event)
        events.deliver()
    }

    func fail(_ error: BridgeError) { tell(.failed(error)) }

    /// Reports an error of its own work. Being closed meanwhile is not an error, and a problem of the file is
    /// reported once.
    func report(_ error: any Error) {
        guard let error = error as? BridgeError, error.code != .closed else { return }
        if error.concernsTheFile { file.fail(error) } else { fail(error) }
    }

    private func take(_ event: SQLiteFile.Event) {
        switch event {
        case .committed: ring()
        case .wentBack: commands.yield(.beginAgain)
        case .troubleBegan(let reason):
            tell(.disconnected(reason: reason))
            if state.withLock({ $0.waking.isWorthTelling(reason) }) { fail(reason) }
        case .troubleEnded(let duration):
            tell(.reconnected(gap: duration, unsent: state.withLock { $0.waking.takeUnsent() }))
            for name in state.withLock({ $0.durable }) { name.lookAgain() }
            ring()
        }
    }

    /// Looks for messages soon.
    func ring() {
        let isFirst = state.withLock { state in
            defer { state.isLookPending = true }
            return !state.isLookPending
        }
        if isFirst { commands.yield(.look) }
    }

    // MARK: Being a member

    /// Names this connection in the file; empty as long as it does not subscribe.
    var holder: String { member.withLock { $0?.token ?? "" } }

    /// The token of this connection, which is a member from now on.
    func join() async throws -> String {
        if let member = member.withLock({ $0 }) { return member.token }
        SQLiteMember.removeUnknown(beside: file.location)
        let new = try SQLiteMember(beside: file.location)
        let token = member.withLock { member in
            if member == nil { member = new }
            return member!.token  // it is there
        }
        // Messages of ended members come before new ones.
        let ended = try await file.write { [path = file.location] db in
            try db.execute(sql: "INSERT OR IGNORE INTO channels_members VALUES (?)", arguments: [token])
            return try Self.removeEnded(but: token, beside: path, db)
        }
        for token in ended { SQLiteMember.remove(token, beside: file.location) }
        return token
    }

    /// Removes the members that have ended, which frees their messages.
    static func removeEnded(but token: String, beside path: String, _ db: Database) throws -> [String] {
        let ended = try String.fetchAll(
            db,
            sql: "SELECT token FROM channels_members WHERE token <> ?",
            arguments: [token]
        )
        .filter { SQLiteMember.Other($0, beside: path).hasEnded }
        for token in ended { try remove(token, db) }
        return ended
    }

    private static func isMember(_ token: String, _ db: Database) throws -> Bool {
        let found = try db.cachedStatement(sql: "SELECT 1 FROM channels_members WHERE token = ?")
        return try Int.fetchOne(found, arguments: [token]) != nil
    }

    /// Leaves others what this connection held, and takes another sign of life if its own was removed.
    ///
    /// - Returns: The former token, and the one from now on; empty if it does not subscribe.
    func renew() throws -> (former: String, token: String) {
        guard let former = member.withLock({ $0 }) else { return ("", "") }
        guard !former.isThere else { return (former.token, former.token) }
        let new = try SQLiteMember(beside: file.location)
        member.withLock { $0 = new }
        return (former.token, new.token)
    }

    /// Whether the others find the sign of life of this connection, if it has one.
    var isKnownToOthers: Bool { member.withLock { $0 }?.isThere ?? true }

    static func remove(_ member: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM channels_members WHERE token = ?", arguments: [member])
    }

    /// Stores the settlement of a message as soon as the file can be written.
    func settle(_ change: @escaping @Sendable (Database) throws -> Void) {
        file.settle(change) { [weak self] error in if let error { self?.report(error) } }
    }

    // MARK: Reading

    struct Found: Sendable {
        let number: Int64
        let subject: String
        let time: Double
        /// Read only if a subscriber needs it.
        let message: TransportMessage?
    }

    private func look() async {
        let epoch = state.withLock { state in
            state.isLookPending = false
            return state.epoch
        }
        // Otherwise it begins again first.
        guard epoch == file.epoch else { return }
        do {
            try await findNew()
            try await take()
            try await deliverValues()
        } catch { report(error) }
    }

    /// Reads new messages, and delivers those that are not durable.
    private func findNew() async throws {
        while true {
            let (last, patterns, names) = state.withLock { ($0.lastNumber, $0.plain.map(\.pattern), $0.durable) }
            // A connection that only publishes checks whether the file was restored.
            guard !patterns.isEmpty || !names.isEmpty else { return try await file.read { _ in } }
            let (newest, free, members, found) = try await file.read { db in
                (
                    try SQLiteSchema.lastNumber(db), try Self.freeNames(db), try Self.members(db),
                    patterns.isEmpty ? [] : try Self.find(after: last, patterns, db)
                )
            }
            learn(members)
            for name in names where newest > last || free.contains(name.place.id) { name.lookAgain() }
            let isPart = found.count == Self.portion
            state.withLock { $0.lastNumber = isPart ? found[Self.portion - 1].number : max(newest, last) }
            await deliver(found)
            if !isPart { return }
        }
    }

    /// The durable names with messages that no member holds.
    private static func freeNames(_ db: Database) throws -> Set<Int64> {
        try Int64.fetchSet(
            db.cachedStatement(sql: "SELECT DISTINCT consumer FROM channels_unsettled WHERE holder IS NULL")
        )
    }

    private static func members(_ db: Database) throws -> Set<String> {
        try String.fetchSet(db.cachedStatement(sql: "SELECT token FROM channels_members"))
    }

    private static func find(after last: Int64, _ patterns: [ChannelPattern], _ db: Database) throws -> [Found] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, subject, headers, body, time FROM channels_messages WHERE number > ?
                    ORDER BY number LIMIT \(portion)
                    """
            ),
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
        var groups: [ExactText: [Found]] = [:]
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
        for (group, items) in groups {
            let now = ContinuousClock.now
            state.withLock { $0.shared[group, default: []] += items.map { Shared(found: $0, seen: now) } }
            await share(group)
        }
    }

    /// Takes messages for the durable names that have room, until there are none left, and delivers them.
    private func take() async throws {
        while true {
            let requests = state.withLock { $0.durable }.compactMap { name in name.request().map { (name, $0) } }
            guard !requests.isEmpty else { return }
            let taking = SQLiteTaking(requests: requests.map(\.1), holder: holder)
            let epoch = file.epoch
            let result: (parts: [SQLiteTaking.Part], hasMore: Bool)?
            do {
                // If the file was restored, the names are entered anew, and take again.
                result = try await file.take { [file] db in
                    guard file.epoch == epoch else { return nil }
                    guard try Self.isMember(taking.holder, db) else {
                        // No other member would free the messages it takes.
                        file.goBack(from: epoch)
                        return nil
                    }
                    return try taking.take(db)
                }
            } catch {
                for (name, _) in requests { name.lookAgain() }
                throw error
            }
            guard let (parts, hasMore) = result else { return }
            for (index, (name, request)) in requests.enumerated() {
                if hasMore { name.lookAgain() }
                name.take(parts[index], request, epoch, self)
            }
            let missing = requests.indices.filter { parts[$0].isMissing }.map { requests[$0].0 }
            if !missing.isEmpty { try await enterAgain(missing) }
        }
    }

    // MARK: Closing

    /// Returns why queued messages were not stored, in time or at all.
    func close(timeout: Duration) async -> BridgeError? {
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
            // Its unsettled messages go to another member at once.
            let holder = holder
            let leave: @Sendable (Database) throws -> Void = { try Self.remove(holder, $0) }
            let isGuest = configuration.isObserver && holder.isEmpty
            let error = await file.close(last: isGuest ? nil : leave)
            withExtendedLifetime(member.withLock { $0.take() }) {}
            closed.finish(.success(error))
        }
        let late = BridgeError(.timedOut, detail: "\(file.path): the file was locked or slow, for \(timeout)")
        // In a task of its own: this one may be cancelled.
        let result = await Task { try await closed.value(timeout: timeout, clock: ContinuousClock(), else: late) }
            .result
        do { return try result.get() } catch { return BridgeError(error, path: file.path) }
    }
}
#endif
