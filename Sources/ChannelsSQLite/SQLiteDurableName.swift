#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A subscription under a durable name: what of it this connection holds.
///
/// `state` is guarded by its lock; `id` is set before it is shared.
final class SQLiteDurableName: Sendable {
    private struct State {
        /// In the file.
        var id: Int64 = 0
        var held = 0
        var heldBytes = 0
        /// Whether there may be more than was taken.
        var wantsMore = true
    }

    private struct Taken: Sendable {
        let number: Int64
        let delivery: Int
        let message: TransportMessage
        let time: Double
    }

    let pattern: ChannelPattern
    let queue: HandlerQueue<InboundMessage>
    private let subscription: TransportSubscription
    private let name: String
    private let state = Locked(State())

    init(_ subscription: TransportSubscription, _ name: String, _ queue: HandlerQueue<InboundMessage>) {
        (self.subscription, self.name, self.queue) = (subscription, name, queue)
        pattern = subscription.pattern
    }

    var heldCount: Int { state.withLock { $0.held } }

    /// Whether there may be more to take, and there is room.
    var wantsMore: Bool { state.withLock { $0.wantsMore && $0.held < subscription.unsettledLimit } }

    func lookAgain() { state.withLock { $0.wantsMore = true } }

    /// Finds the name in the file, or enters it.
    func join(_ session: SQLiteSession) async throws {
        let (name, pattern, start) = (name, pattern.text, subscription.start)
        let id = try await session.file.write { db in
            let position = try Self.position(of: start, db)
            try db.execute(
                sql: "INSERT OR IGNORE INTO channels_consumers (name, pattern, position) VALUES (?, ?, ?)",
                arguments: [name, pattern, position]
            )
            let id = try Int64.fetchOne(
                db,
                sql: "SELECT id FROM channels_consumers WHERE name = ? AND pattern = ?",
                arguments: [name, pattern]
            )!  // it was entered
            try Self.releaseWhatTheGoneHeld(id, db)
            return id
        }
        state.withLock { $0.id = id }
    }

    /// Whoever comes after a process that was killed takes what that one had first, and so in order.
    private static func releaseWhatTheGoneHeld(_ id: Int64, _ db: Database) throws {
        let holders = try String.fetchAll(
            db,
            sql: "SELECT DISTINCT holder FROM channels_unsettled WHERE consumer = ? AND holder IS NOT NULL",
            arguments: [id]
        )
        for holder in holders where SQLiteHolder.isGone(holder) {
            try db.execute(
                sql: "UPDATE channels_unsettled SET due = 0, holder = NULL WHERE consumer = ? AND holder = ?",
                arguments: [id, holder]
            )
        }
    }

    /// The number of the message before the first one.
    static func position(of start: ReplayStart?, _ db: Database) throws -> Int64 {
        switch start?.position {
        case nil, .new: return try SQLiteSchema.lastNumber(db)
        case .stored: return 0
        case .sequence(let number): return Int64(clamping: number) - 1
        case .time(let seconds):
            let first = try Int64.fetchOne(
                db,
                sql: "SELECT MIN(number) FROM channels_messages WHERE durable AND time >= ?",
                arguments: [seconds]
            )
            return try first.map { $0 - 1 } ?? SQLiteSchema.lastNumber(db)
        }
    }

    // MARK: Taking

    /// Takes what there is room for, and hands it out.
    func fetch(_ session: SQLiteSession) async throws {
        while true {
            let (id, room, bytes) = state.withLock { state in
                state.wantsMore = false
                return (
                    state.id, subscription.unsettledLimit - state.held,
                    state.held == 0 ? Int.max : subscription.unsettledByteLimit - state.heldBytes
                )
            }
            guard room > 0, bytes > 0 else {
                state.withLock { $0.wantsMore = true }
                return
            }
            let most = min(room, 500)
            let limit = min(bytes, subscription.unsettledByteLimit)
            let (holder, leaseEnd, pattern) = (session.holder, session.leaseEnd, pattern)
            let (taken, due) = try await session.file.write { db in
                (
                    try Self.take(id, pattern, most: most, bytes: limit, holder, until: leaseEnd, db),
                    try Double.fetchOne(
                        db,
                        sql: "SELECT MIN(due) FROM channels_unsettled WHERE consumer = ? AND holder IS NOT ?",
                        arguments: [id, holder]
                    )
                )
            }
            if let due { session.ring(at: due) }
            state.withLock { state in
                state.held += taken.count
                state.heldBytes += taken.reduce(0) { $0 + $1.message.byteCount }
            }
            for item in taken { queue.enqueue(inbound(item, id, session)) }
            queue.deliver()
            guard !taken.isEmpty else { return }
        }
    }

    /// Takes what may be delivered again, and then what is new, up to a number of messages and of bytes, but one at
    /// least. Never what this connection holds itself, however late it is with extending its lease.
    private static func take(
        _ id: Int64,
        _ pattern: ChannelPattern,
        most: Int,
        bytes: Int,
        _ holder: String,
        until leaseEnd: Double,
        _ db: Database
    ) throws -> [Taken] {
        var taken: [Taken] = []
        var left = bytes
        /// False where there is no room for the message.
        func add(_ row: Row, delivery: Int) throws -> Bool {
            let message = TransportMessage(row)
            guard taken.count < most, taken.isEmpty || message.byteCount <= left else { return false }
            left -= message.byteCount
            taken.append(Taken(number: row["number"], delivery: delivery, message: message, time: row["time"]))
            return true
        }
        let again = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, headers, body, time, deliveries
                FROM channels_unsettled JOIN channels_messages USING (number)
                WHERE consumer = ? AND due <= ? AND holder IS NOT ? ORDER BY number LIMIT \(most)
                """,
            arguments: [id, Timestamp.now.secondsSince1970, holder]
        )
        while let row = try again.next(), try add(row, delivery: row["deliveries"] + 1) {}
        for item in taken {
            try db.execute(
                sql:
                    "UPDATE channels_unsettled SET deliveries = ?, due = ?, holder = ? WHERE consumer = ? AND number = ?",
                arguments: [item.delivery, leaseEnd, holder, id, item.number]
            )
        }
        let position = try Int64.fetchOne(
            db,
            sql: "SELECT position FROM channels_consumers WHERE id = ?",
            arguments: [id]
        )
        let new = try Row.fetchCursor(
            db,
            sql: """
                SELECT number, subject, headers, body, time FROM channels_messages
                WHERE number > ? AND durable ORDER BY number
                """,
            arguments: [position ?? 0]
        )
        let before = taken.count
        var reached = position ?? 0
        while let row = try new.next() {
            if pattern.matches(row["subject"]) {
                guard try add(row, delivery: 1) else { break }
            }
            reached = row["number"]
        }
        let enter = try db.cachedStatement(
            sql: "INSERT INTO channels_unsettled (consumer, number, deliveries, due, holder) VALUES (?, ?, 1, ?, ?)"
        )
        for item in taken[before...] { try enter.execute(arguments: [id, item.number, leaseEnd, holder]) }
        if reached != position {
            try db.execute(
                sql: "UPDATE channels_consumers SET position = ? WHERE id = ?",
                arguments: [reached, id]
            )
        }
        return taken
    }

    // MARK: Settling

    private func inbound(_ item: Taken, _ id: Int64, _ session: SQLiteSession) -> InboundMessage {
        let delivery = Delivery(self, id, item.number, item.delivery, item.message.byteCount, session)
        var message = InboundMessage(
            item.message,
            deliveryCount: item.delivery,
            identity: "\(item.number)",
            sequence: UInt64(item.number),
            settle: { delivery.settle($0) }
        )
        message.storedAt = Timestamp(secondsSince1970: item.time)
        return message
    }

    /// A message that was handed out, until it is settled or released.
    private final class Delivery: Sendable {
        private let name: SQLiteDurableName
        private let id: Int64
        private let number: Int64
        private let delivery: Int
        private let byteCount: Int
        private let session: SQLiteSession
        private let isSettled = Locked(false)

        init(
            _ name: SQLiteDurableName,
            _ id: Int64,
            _ number: Int64,
            _ delivery: Int,
            _ byteCount: Int,
            _ session: SQLiteSession
        ) {
            (self.name, self.id, self.number, self.delivery) = (name, id, number, delivery)
            (self.byteCount, self.session) = (byteCount, session)
        }

        // It is nobody's: another is given it when the wait is over.
        deinit {
            if begin() { change("UPDATE channels_unsettled SET holder = holder || ' released'", [], after: nil) }
        }

        private func begin() -> Bool {
            isSettled.withLock { isSettled in
                defer { isSettled = true }
                return !isSettled
            }
        }

        func settle(_ settlement: Settlement) {
            guard begin() else { return }
            switch settlement {
            case .acknowledged, .terminated: change("DELETE FROM channels_unsettled", [], after: nil)
            case .retry(let delay):
                let due = Timestamp.now.secondsSince1970 + max(delay / .seconds(1), 0)
                change("UPDATE channels_unsettled SET holder = NULL, due = ?", [due], after: due)
            }
        }

        private func change(_ sql: String, _ arguments: StatementArguments, after due: Double?) {
            name.state.withLock { state in
                state.held -= 1
                state.heldBytes -= byteCount
                state.wantsMore = true
            }
            let (session, id, number, delivery) = (session, id, number, delivery)
            session.file.write(
                { db in
                    let statement = try db.cachedStatement(
                        sql: sql + " WHERE consumer = ? AND number = ? AND deliveries = ?"
                    )
                    try statement.execute(arguments: arguments + [id, number, delivery])
                },
                { error in
                    if let error { session.fail(error) }
                    if let due { session.ring(at: due) }
                }
            )
        }
    }
}
#endif
