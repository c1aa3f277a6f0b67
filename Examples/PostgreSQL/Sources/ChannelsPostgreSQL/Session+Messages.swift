internal import Channels
internal import ChannelsBridge
internal import Foundation

/// A subscription under a durable name.
struct DurableName {
    var subscription: TransportSubscription
    let name: String
    let onMessage: @Sendable (InboundMessage) -> Void
    /// The number of the name in the table.
    var id: Int64 = 0
    /// How many messages were claimed and are not settled, and their size.
    private(set) var held = 0
    private(set) var heldBytes = 0
    /// Whether there may be more messages to claim.
    var isWanting = true

    var room: Int { subscription.prefetchLimit - held }
    var byteRoom: Int { held == 0 ? subscription.prefetchByteLimit : subscription.prefetchByteLimit - heldBytes }

    mutating func claim(_ bytes: Int) { (held, heldBytes) = (held + 1, heldBytes + bytes) }

    mutating func release(_ bytes: Int) {
        // If there was no room before this, there may be more to claim now.
        isWanting = isWanting || room <= 0 || held == 1 || byteRoom < subscription.prefetchByteLimit / 2
        (held, heldBytes) = (held - 1, heldBytes - bytes)
    }

    /// Forgets what is held, because another session held it.
    mutating func lose() { (held, heldBytes, isWanting) = (0, 0, true) }
}

/// What is read by position: messages that are delivered at most once, and last values.
struct Reading {
    struct Reader {
        let pattern: ChannelPattern
        let onMessage: @Sendable (InboundMessage) -> Void
    }

    struct Watcher {
        let pattern: ChannelPattern
        let onValue: @Sendable (StoredValue) -> Void
        /// The last revision of each subject, by the bytes of the subject.
        var revisions: [[UInt8]: Int64] = [:]
    }

    var readers: [Reader] = []
    var watchers: [Watcher] = []
    /// What has been read, as the text of snapshots.
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

    /// Enters a name in the table, or finds it there.
    func join(_ place: Int) throws {
        guard let connection else { return }
        let answers = try connection.run([Schema.enter(names[place].name, names[place].subscription)])
        names[place].id = answers[0].rows[0].int(0)
        names[place].lose()
    }

    /// Claims messages for the names that have room.
    ///
    /// - Parameter all: Whether there may be new messages for every name.
    func claim(all: Bool) throws {
        for place in names.indices {
            if all { names[place].isWanting = true }
            // This repeats as long as there are messages, with jobs in between.
            guard names[place].isWanting, let connection else { continue }
            guard names[place].room > 0, names[place].byteRoom > 0 else {
                names[place].isWanting = false
                continue
            }
            let wanted: [Parameter] = [
                .int(names[place].id), .int(token), .int(min(names[place].room, 256)), .int(names[place].byteRoom),
                .text("\(names[place].held == 0)"),
            ]
            let claim = Statement("SELECT * FROM channels_claim($1, $2, $3, $4, $5)", wanted)
            let rows = try connection.run([claim])[0].rows
            names[place].isWanting = !rows.isEmpty
            for row in rows { deliver(row, to: place) }
        }
    }

    private func deliver(_ row: Answer.Row, to place: Int) {
        let (name, number, deliveries) = (names[place], row.int(0), Int(row.int(1)))
        let found = Result { try TransportMessage(row, from: 3) }
        let bytes = (try? found.get().byteCount) ?? 0
        let delivery = PostgreSQLDelivery(
            name: name.id,
            number: number,
            deliveries: deliveries,
            token: token,
            byteCount: bytes,
            mailbox
        )
        names[place].claim(bytes)
        do {
            var inbound = InboundMessage(
                try found.get(),
                deliveryCount: deliveries,
                identity: "\(number)",
                sequence: UInt64(number),
                onSettled: { delivery.settle($0) }
            )
            inbound.secondsSince1970 = row.double(2)
            inbound.context = delivery
            inbound.refuse = { try await delivery.refuse(keeping: $0) }
            name.onMessage(inbound)
        } catch {
            // Its subject is not valid, so nobody can ever receive it.
            onEvent(.failed(BridgeError.from(error)))
            delivery.settle(.terminated)
        }
    }

    /// Runs `channels_settle`, and repeats it while a listener's transaction has the message. Whatever
    /// commits first decides.
    ///
    /// - Parameter end: Called with whether this has settled the message.
    func settle(
        _ delivery: PostgreSQLDelivery,
        _ statement: Statement,
        isDurable: Bool,
        _ end: @escaping (Result<Bool, any Error>) -> Void
    ) {
        // If the tokens differ, the session that had the message has ended, and it is for others.
        guard delivery.token == token else { return end(.success(false)) }
        let again: (Session, Duration) -> Void = { session, delay in
            session.after(delay) { $0.settle(delivery, statement, isDurable: isDurable, end) }
        }
        add(
            Change(statement: statement, isDurable: isDurable) { session, result in
                switch result {
                case .success(let answer) where answer.rows[0].int(0) < 0: again(session, .milliseconds(50))
                case .success(let answer): end(.success(answer.rows[0].int(0) == 1))
                case .failure(let error as SQLFailure) where !isDurable:
                    session.onEvent(.failed(BridgeError(error)))
                    again(session, .seconds(1))
                case .failure(let error): end(.failure(error))
                }
            }
        )
    }

    /// Called when a message is not held any more.
    ///
    /// - Parameter delay: After which time it is delivered again; nil if it is not.
    func release(_ delivery: PostgreSQLDelivery, comesAfter delay: Duration?) {
        guard delivery.token == token, let place = names.firstIndex(where: { $0.id == delivery.name }) else { return }
        names[place].release(delivery.byteCount)
        if let delay { after(delay + .milliseconds(1)) { $0.want(delivery.name) } }
    }

    func limit(_ name: String, _ pattern: ChannelPattern, to limit: Int) {
        for place in names.indices
        where names[place].name.utf8.elementsEqual(name.utf8) && names[place].subscription.pattern == pattern {
            names[place].subscription.prefetchLimit = limit
            names[place].isWanting = true
        }
    }

    private func want(_ name: Int64) {
        for place in names.indices where names[place].id == name { names[place].isWanting = true }
    }

    // MARK: Positions

    func subscribe(_ reader: Reading.Reader, _ once: Once<Void>) {
        perform(once, reader.pattern.text) { connection in
            // Existing readers have been read up to here.
            if reading.readers.isEmpty {
                reading.messages = try snapshot(connection)
            } else {
                try readMessages(connection)
            }
            reading.readers.append(reader)
        }
    }

    private func snapshot(_ connection: Connection) throws -> String {
        try connection.run([Statement("SELECT pg_current_snapshot()::text")])[0].rows[0].text(0)
    }

    func watch(_ watcher: Reading.Watcher, _ once: Once<Void>) {
        perform(once, watcher.pattern.text) { connection in
            if reading.watchers.isEmpty { reading.values = try snapshot(connection) }
            reading.watchers.append(watcher)
            do { try readAll(reading.watchers.count - 1, connection) } catch {
                reading.watchers.removeLast()
                throw error
            }
        }
    }

    /// Reads what is newer than the snapshots.
    func readNew(_ connection: Connection) throws {
        if !reading.readers.isEmpty { try readMessages(connection) }
        guard !reading.watchers.isEmpty else { return }
        for row in try read(
            "channels_new_values($1::text::pg_snapshot, $2)",
            from: &reading.values,
            [.text(">")],
            connection
        ) {
            for place in reading.watchers.indices { tell(row, to: place) }
        }
    }

    /// Reads on a new connection. Messages published meanwhile are lost, but values are not.
    func readAgain(_ connection: Connection) throws {
        reading.messages = try snapshot(connection)
        reading.values = reading.messages
        for place in reading.watchers.indices { try readAll(place, connection) }
    }

    /// - Parameter position: What has been read. It is updated.
    private func read(_ call: String, from position: inout String, _ pattern: [Parameter], _ connection: Connection)
        throws
        -> ArraySlice<Answer.Row>
    {
        let rows = try connection.run([Statement("SELECT * FROM \(call)", [.text(position)] + pattern)])[0].rows
        position = rows[0].text(0)
        // If there is nothing new, there is one row with the position.
        return rows[0].bytes(1) == nil ? [] : rows[...]
    }

    private func readMessages(_ connection: Connection) throws {
        for row in try read("channels_new_messages($1::text::pg_snapshot)", from: &reading.messages, [], connection) {
            do {
                let message = try TransportMessage(row, from: 2)
                for reader in reading.readers where reader.pattern.matches(message.subject) {
                    reader.onMessage(InboundMessage(message))
                }
            } catch { onEvent(.failed(BridgeError.from(error))) }
        }
    }

    private func readAll(_ place: Int, _ connection: Connection) throws {
        // The snapshot in which nothing has been read yet.
        var position = "1:1:"
        let pattern = Parameter.text(reading.watchers[place].pattern.text)
        for row in try read("channels_new_values($1::text::pg_snapshot, $2)", from: &position, [pattern], connection) {
            tell(row, to: place)
        }
    }

    private func tell(_ row: Answer.Row, to place: Int) {
        let (watcher, revision, key) = (reading.watchers[place], row.int(1), row.bytes(2) ?? [])
        do {
            let message = try TransportMessage(row, from: 2)
            guard watcher.pattern.matches(message.subject), watcher.revisions[key] ?? 0 < revision else { return }
            reading.watchers[place].revisions[key] = revision
            watcher.onValue(StoredValue(message, revision: UInt64(revision)))
        } catch { onEvent(.failed(BridgeError.from(error))) }
    }
}
