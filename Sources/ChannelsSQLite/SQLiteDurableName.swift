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
        /// What others had taken when it came, and how long what is new waits for that.
        var joined: (position: Int64, patienceEnd: Double) = (0, 0)
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

    /// How many it holds at most: others of the name have their share, too.
    private var limit: Int { min(subscription.unsettledLimit, 256) }

    var id: Int64 { state.withLock { $0.id } }

    var heldCount: Int { state.withLock { $0.held } }

    /// Whether there may be more to take, and there is room.
    var wantsMore: Bool { state.withLock { $0.wantsMore && $0.held < limit } }

    func lookAgain() { state.withLock { $0.wantsMore = true } }

    /// Finds the name in the file, or enters it.
    func join(_ session: SQLiteSession) async throws {
        let (name, pattern, start) = (name, pattern.text, subscription.start)
        let (id, reached) = try await session.file.write { db in
            let position = try SQLiteSchema.position(of: start, db)
            try db.execute(
                sql: """
                    INSERT INTO channels_consumers (name, pattern, position, seen) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET seen = excluded.seen
                    """,
                arguments: [name, pattern, position, Timestamp.now.secondsSince1970]
            )
            let row = try Row.fetchOne(
                db,
                sql: "SELECT id, position FROM channels_consumers WHERE name = ? AND pattern = ?",
                arguments: [name, pattern]
            )!  // it was entered
            return (row["id"] as Int64, row["position"] as Int64)
        }
        let patienceEnd = Timestamp.now.secondsSince1970 + session.lease
        state.withLock { ($0.id, $0.joined) = (id, (reached, patienceEnd)) }
    }

    // MARK: Taking

    /// Takes what there is room for, and hands it out.
    func fetch(_ session: SQLiteSession) async throws {
        while true {
            let (id, joined, room, bytes) = state.withLock { state in
                // Before it looks: what is stored meanwhile, it has not seen.
                state.wantsMore = false
                let bytes = state.held == 0 ? Int.max : subscription.unsettledByteLimit - state.heldBytes
                return (state.id, state.joined, limit - state.held, bytes)
            }
            guard room > 0, bytes > 0 else { return lookAgain() }
            let taking = SQLiteTaking(
                id: id,
                pattern: pattern,
                most: room,
                bytes: min(bytes, subscription.unsettledByteLimit),
                holder: session.holder,
                lease: session.lease,
                waitsFor: Timestamp.now.secondsSince1970 < joined.patienceEnd ? joined.position : nil
            )
            let (taken, due) = try await session.file.write { try taking.take($0) }
            // While it waits for others, it looks whether they have settled.
            if let due {
                session.ring(at: taking.waitsFor == nil ? due : Timestamp.now.secondsSince1970 + 0.02)
            }
            state.withLock { state in
                state.held += taken.count
                state.heldBytes += taken.reduce(0) { $0 + $1.message.byteCount }
            }
            for item in taken { queue.enqueue(inbound(item, id, session)) }
            queue.deliver()
            guard !taken.isEmpty else { return }
        }
    }

    // MARK: Settling

    private func inbound(_ item: SQLiteTaking.Taken, _ id: Int64, _ session: SQLiteSession) -> InboundMessage {
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
            let condition = " WHERE consumer = ? AND number = ? AND deliveries = ?"
            session.settle(sql + condition, arguments + [id, number, delivery], due)
        }
    }
}

extension SQLiteSession {
    /// Stores what has become of a message. Tried again until the file takes it: nobody else settles the message as
    /// long as this connection is there.
    fileprivate func settle(_ sql: String, _ arguments: StatementArguments, _ due: Double?) {
        file.write({ try $0.cachedStatement(sql: sql).execute(arguments: arguments) }) { error in
            if let due { self.ring(at: due) }
            guard let error, error.code != .closed else { return }
            self.fail(error)
            Task {
                try? await Task.sleep(for: Self.failurePause)
                self.settle(sql, arguments, due)
            }
        }
    }
}
#endif
