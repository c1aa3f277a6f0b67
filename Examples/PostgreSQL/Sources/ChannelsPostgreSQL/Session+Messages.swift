internal import Channels
internal import ChannelsBridge
internal import Foundation

/// A subscription under a durable name.
struct DurableName {
    let subscription: TransportSubscription
    let name: String
    let onMessage: @Sendable (InboundMessage) -> Void
    /// In the table.
    var id: Int64 = 0
    /// Messages that were claimed and are not settled.
    private(set) var (held, heldBytes) = (0, 0)
    /// Whether there may be more to claim.
    var isWanting = true

    init(
        _ subscription: TransportSubscription,
        _ name: String,
        _ onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) {
        (self.subscription, self.name, self.onMessage) = (subscription, name, onMessage)
    }

    var room: Int { subscription.unsettledLimit - held }
    var byteRoom: Int { held == 0 ? subscription.unsettledByteLimit : subscription.unsettledByteLimit - heldBytes }

    mutating func claim(_ bytes: Int) { (held, heldBytes) = (held + 1, heldBytes + bytes) }

    mutating func release(_ bytes: Int) {
        // There was room, or not, for what is next.
        isWanting = isWanting || room == 0 || held == 1 || byteRoom < subscription.unsettledByteLimit / 2
        (held, heldBytes) = (held - 1, heldBytes - bytes)
    }

    /// Nothing is held any more: the session that held it is another one.
    mutating func lose() { (held, heldBytes, isWanting) = (0, 0, true) }
}

/// What is read by position: messages at most once, and last values.
struct Reading {
    struct Reader {
        let pattern: ChannelPattern
        let onMessage: @Sendable (InboundMessage) -> Void
    }

    struct Watcher {
        let pattern: ChannelPattern
        let onValue: @Sendable (StoredValue) -> Void
        /// The last revision of each subject, by its bytes.
        var revisions: [[UInt8]: Int64] = [:]
    }

    var readers: [Reader] = []
    var watchers: [Watcher] = []
    /// What was read: the snapshots, as text.
    var (messages, values) = ("", "")

    mutating func forgetRevisions() {
        for place in watchers.indices { watchers[place].revisions = [:] }
    }
}

extension Session {
    // MARK: Durable names

    func subscribe(_ durable: DurableName, _ once: Once<Void>) {
        perform(once, durable.subscription.pattern.text) { _ in
            names.append(durable)
            do { try join(names.count - 1) } catch {
                names.removeLast()
                throw error
            }
        }
    }

    /// Enters a name, or finds it.
    func join(_ place: Int) throws {
        guard let connection else { return }
        let (name, subscription) = (names[place].name, names[place].subscription)
        let answers = try connection.run([
            Schema.enter(name, subscription),
            Statement(
                "SELECT id FROM channels_names WHERE name = $1 AND pattern = $2",
                .text(name),
                .text(subscription.pattern.text)
            ),
        ])
        names[place].id = answers[1].rows.first?.int(0) ?? 0
        names[place].lose()
    }

    /// Claims messages for the names that have room.
    ///
    /// - Parameter all: Whether there may be new messages for every name.
    func claim(all: Bool) throws {
        for place in names.indices {
            if all { names[place].isWanting = true }
            // As long as there are some; jobs have their turn in between.
            guard names[place].isWanting, let connection else { continue }
            guard names[place].room > 0, names[place].byteRoom > 0 else {
                names[place].isWanting = false
                continue
            }
            let answers = try connection.run([
                Statement(
                    "SELECT * FROM channels_claim($1, $2, $3, $4, $5)",
                    .int(names[place].id),
                    .int(token),
                    .int(min(names[place].room, 256)),
                    .int(names[place].byteRoom),
                    .text("\(names[place].held == 0)")
                )
            ])
            names[place].isWanting = !answers[0].rows.isEmpty
            for row in answers[0].rows { deliver(row, to: place) }
        }
    }

    private func deliver(_ row: Answer.Row, to place: Int) {
        saw(row.int(2))
        let (number, deliveries) = (row.int(0), Int(row.int(1)))
        let message: TransportMessage
        do { message = try TransportMessage(row, from: 4) } catch {
            onEvent(.failed(BridgeError.from(error)))
            // Nobody can ever receive it.
            return settle(Holding(names[place].id, number, deliveries, token), .terminated) { _ in }
        }
        let bytes = message.byteCount
        names[place].claim(bytes)
        let holding = Holding(names[place].id, number, deliveries, token)
        let delivery = PostgreSQLDelivery(holding, mailbox) { [name = names[place].id] session in
            session.release(bytes, of: holding, name: name)
        }
        var inbound = InboundMessage(
            message,
            deliveryCount: deliveries,
            identity: "\(number)",
            sequence: UInt64(number)
        ) { delivery.settle($0) }
        inbound.secondsSince1970 = row.double(3)
        inbound.context = delivery
        inbound.refuse = { try await delivery.refuse(keeping: $0) }
        names[place].onMessage(inbound)
    }

    /// A message is not held any more.
    private func release(_ bytes: Int, of holding: Holding, name: Int64) {
        guard holding.token == token, let place = names.firstIndex(where: { $0.id == name }) else { return }
        names[place].release(bytes)
    }

    /// Settles a message, or gives it back. Tries again while a listener's transaction has it.
    ///
    /// - Parameter end: Called once it is not held any more.
    func settle(_ holding: Holding, _ settlement: Settlement, _ end: @escaping (Session) -> Void) {
        // The session that held it has ended, and others have the message.
        guard holding.token == token else { return }
        add(
            Change(statements: [holding.statement(for: settlement)]) { session, result in
                switch result {
                case .success(let answers):
                    let row = answers[0].rows[0]
                    guard row.bool(0) || !row.bool(1) else {
                        return session.after(.milliseconds(50)) { $0.settle(holding, settlement, end) }
                    }
                    end(session)
                    if case .retry(let delay) = settlement {
                        session.after(delay + .milliseconds(1)) { $0.want(holding.name) }
                    }
                case .failure(let error as SQLFailure):
                    session.onEvent(.failed(BridgeError(error)))
                    session.after(.seconds(1)) { $0.settle(holding, settlement, end) }
                // The connection is lost, and everything that it held is free.
                case .failure: break
                }
            }
        )
    }

    private func want(_ name: Int64) {
        for place in names.indices where names[place].id == name { names[place].isWanting = true }
    }

    // MARK: Positions

    func subscribe(_ reader: Reading.Reader, _ once: Once<Void>) {
        perform(once, reader.pattern.text) { connection in
            // Those before it are read up to here.
            if reading.readers.isEmpty { try begin(connection) } else { try readMessages(connection) }
            reading.readers.append(reader)
        }
    }

    private func begin(_ connection: Connection) throws {
        reading.messages = try connection.run([Statement("SELECT pg_current_snapshot()::text")])[0].rows[0].text(0)
    }

    func watch(_ watcher: Reading.Watcher, _ once: Once<Void>) {
        perform(once, watcher.pattern.text) { connection in
            if reading.watchers.isEmpty {
                reading.values = try connection.run([Statement("SELECT pg_current_snapshot()::text")])[0].rows[0].text(
                    0
                )
            }
            reading.watchers.append(watcher)
            do { try readAll(reading.watchers.count - 1, connection) } catch {
                reading.watchers.removeLast()
                throw error
            }
        }
    }

    /// Reads what the snapshots do not see.
    func readNew() throws {
        guard let connection else { return }
        if !reading.readers.isEmpty { try readMessages(connection) }
        guard !reading.watchers.isEmpty else { return }
        let rows = try connection.run([
            Statement(
                """
                SELECT pg_current_snapshot()::text, revision, subject, headers, body FROM (VALUES (1)) AS one LEFT JOIN (
                    SELECT revision, subject, headers, body FROM channels_values
                    WHERE xid >= pg_snapshot_xmin($1::text::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::text::pg_snapshot)
                ) AS new ON true ORDER BY revision
                """,
                .text(reading.values)
            )
        ])[0].rows
        reading.values = rows[0].text(0)
        for row in rows where row.bytes(1) != nil {
            for place in reading.watchers.indices { tell(row, to: place) }
        }
    }

    private func readMessages(_ connection: Connection) throws {
        let new = """
            WHERE xid >= pg_snapshot_xmin($1::text::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::text::pg_snapshot)
            """
        let rows = try connection.run([
            Statement(
                """
                SELECT pg_current_snapshot()::text, number, subject, headers, body FROM (VALUES (1)) AS one LEFT JOIN (
                    SELECT number, subject, headers, body FROM channels_messages \(new)
                    UNION ALL SELECT number, subject, headers, body FROM channels_plain \(new)
                ) AS new ON true ORDER BY number
                """,
                .text(reading.messages)
            )
        ])[0].rows
        reading.messages = rows[0].text(0)
        for row in rows where row.bytes(1) != nil {
            do {
                let message = try TransportMessage(row, from: 2)
                for reader in reading.readers where reader.pattern.matches(message.subject) {
                    reader.onMessage(InboundMessage(message))
                }
            } catch { onEvent(.failed(BridgeError.from(error))) }
        }
    }

    /// After a new connection: what was published meanwhile is lost, and values are not.
    func readAgain() throws {
        guard let connection else { return }
        try begin(connection)
        reading.values = reading.messages
        for place in reading.watchers.indices { try readAll(place, connection) }
    }

    private func readAll(_ place: Int, _ connection: Connection) throws {
        let expression = Schema.expression(of: reading.watchers[place].pattern.text)
        let rows = try connection.run([
            Statement(
                "SELECT '', revision, subject, headers, body FROM channels_values WHERE subject ~ $1 ORDER BY revision",
                .text(expression)
            )
        ])[0].rows
        for row in rows { tell(row, to: place) }
    }

    private func tell(_ row: Answer.Row, to place: Int) {
        let (watcher, revision, key) = (reading.watchers[place], row.int(1), row.bytes(2) ?? [])
        do {
            let message = try TransportMessage(row, from: 2)
            guard watcher.pattern.matches(message.subject), watcher.revisions[key].map({ $0 < revision }) ?? true else {
                return
            }
            reading.watchers[place].revisions[key] = revision
            watcher.onValue(StoredValue(message, revision: UInt64(revision)))
        } catch { onEvent(.failed(BridgeError.from(error))) }
    }
}
