#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A subscription under a durable name: what of it this connection holds.
///
/// `state` is guarded by its lock.
final class SQLiteDurableName: Sendable {
    private struct State {
        /// In the file.
        var id: Int64 = 0
        /// Messages up to here that were not taken are for others.
        var passed: Int64 = 0
        var held = 0
        var heldBytes = 0
        /// Whether there may be more than was taken.
        var mayHaveMore = true
    }

    let pattern: ChannelPattern
    let queue: HandlerQueue<InboundMessage>
    let name: String
    private let subscription: TransportSubscription
    private let state = Locked(State())

    init(
        _ subscription: TransportSubscription,
        _ name: String,
        atMost limit: Int,
        _ queue: HandlerQueue<InboundMessage>
    ) {
        (self.subscription, self.name, self.queue) = (subscription, name, queue)
        self.limit = min(subscription.unsettledLimit, limit)
        pattern = subscription.pattern
    }

    /// How many it holds at most: others of the name have their share, too.
    private let limit: Int

    /// Its id in the file, and the number up to which messages not taken are for others.
    var place: (id: Int64, passed: Int64) { state.withLock { ($0.id, $0.passed) } }

    func lookAgain() { state.withLock { $0.mayHaveMore = true } }

    /// Finds the name in the file, or enters it, and says that this member uses it.
    func join(_ member: String, _ db: Database) throws {
        let position = try SQLiteSchema.position(of: subscription.start, db)
        try db.execute(
            sql: "INSERT INTO channels_consumers (name, pattern, position) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            arguments: [name, pattern.text, position]
        )
        let id = try Int64.fetchOne(
            db,
            sql: "SELECT id FROM channels_consumers WHERE name = ? AND pattern = ?",
            arguments: [name, pattern.text]
        )!  // it was entered
        try db.execute(
            sql: "INSERT OR IGNORE INTO channels_subscribers (consumer, member) VALUES (?, ?)",
            arguments: [id, member]
        )
        state.withLock { ($0.id, $0.passed, $0.mayHaveMore) = (id, 0, true) }
    }

    // MARK: Taking

    /// The request for more messages; nil if there is no room, or there were none left.
    func request() -> SQLiteTaking.Request? {
        state.withLock { state in
            let bytes = subscription.unsettledByteLimit - state.heldBytes
            guard state.mayHaveMore, state.held < limit, bytes > 0 || state.held == 0 else { return nil }
            // Before reading: messages stored meanwhile are not seen.
            state.mayHaveMore = false
            return SQLiteTaking.Request(
                id: state.id,
                name: ExactText(name),
                pattern: pattern,
                most: limit - state.held,
                bytes: max(bytes, 1),
                passed: state.passed
            )
        }
    }

    /// Delivers the messages taken.
    func take(_ part: SQLiteTaking.Part, _ request: SQLiteTaking.Request, _ epoch: Int, _ session: SQLiteSession) {
        state.withLock { state in
            state.held += part.taken.count
            state.heldBytes += part.taken.reduce(0) { $0 + $1.message.byteCount }
            if part.isFull { state.mayHaveMore = true }
            // Unless it has been entered anew since.
            if state.id == request.id { state.passed = max(state.passed, part.passed) }
        }
        for item in part.taken { queue.enqueue(inbound(item, request.id, epoch, session)) }
        queue.deliver()
    }

    // MARK: Settling

    private func inbound(_ item: SQLiteTaking.Taken, _ id: Int64, _ epoch: Int, _ session: SQLiteSession)
        -> InboundMessage
    {
        let delivery = Delivery(self, id, item, epoch, session)
        var message = InboundMessage(
            item.message,
            deliveryCount: item.delivery,
            identity: "\(item.number)",
            sequence: UInt64(item.number),
            settle: { delivery.settle($0) }
        )
        message.storedAt = Timestamp(secondsSince1970: item.time)
        message.context = delivery
        return message
    }

    /// Where the file says that this connection has a message.
    private struct Holding: Sendable {
        static let delete = "DELETE FROM channels_unsettled"
        static let release = "UPDATE channels_unsettled SET holder = NULL"

        let name: Int64
        let number: Int64
        let delivery: Int
        /// Of the file in which the message was taken. In a copy of it, the number may be that of another message.
        let epoch: Int
        let session: SQLiteSession

        func change(_ sql: String) {
            session.settle { [holder = session.holder] db in try change(sql, holder, db) }
        }

        func change(_ sql: String, _ holder: String, _ db: Database) throws {
            guard session.file.epoch == epoch else { return }
            try db.cachedStatement(sql: sql + " WHERE consumer = ? AND number = ? AND deliveries = ? AND holder = ?")
                .execute(arguments: [name, number, delivery, holder])
        }

        func release(after delay: Duration) {
            guard delay > .zero else { return change(Self.release) }
            // Until then, it stays with this connection: nobody else would know how long to wait.
            Task {
                try? await ContinuousClock().sleep(atMost: delay)
                change(Self.release)
            }
        }
    }

    /// A message that was handed out, until it is settled or released.
    final class Delivery: DeliveryContext {
        /// How long a message waits that was released without being settled.
        private static let releaseDelay = Duration.seconds(1)

        private let name: SQLiteDurableName
        private let holding: Holding
        private let byteCount: Int
        private let isSettled = Locked(false)
        private let isInTransaction = Locked(false)

        fileprivate init(
            _ name: SQLiteDurableName,
            _ id: Int64,
            _ item: SQLiteTaking.Taken,
            _ epoch: Int,
            _ session: SQLiteSession
        ) {
            (self.name, byteCount) = (name, item.message.byteCount)
            holding = Holding(name: id, number: item.number, delivery: item.delivery, epoch: epoch, session: session)
        }

        deinit { settle(.retry(after: Self.releaseDelay)) }

        var isSettledByListener: Bool { isInTransaction.withLock { $0 } }

        /// Keeps no reference to this object, which may be in its deinit.
        func settle(_ settlement: Settlement) {
            let isFirst = isSettled.withLock { isSettled in
                defer { isSettled = true }
                return !isSettled
            }
            guard isFirst else { return }
            let hasMore = name.state.withLock { state in
                state.held -= 1
                state.heldBytes -= byteCount
                return state.mayHaveMore
            }
            switch settlement {
            // If the transaction was rolled back, the message is still there, and comes again.
            case .acknowledged where isSettledByListener: holding.release(after: Self.releaseDelay)
            case .acknowledged, .terminated: holding.change(Holding.delete)
            case .retry(let delay): holding.release(after: delay)
            }
            if hasMore { holding.session.ring() }
        }

        /// Settles it in a transaction on another connection to the file. Returns false if this process has it no more.
        func settle(in db: Database) throws -> Bool {
            guard holding.session.file.epoch == holding.epoch else { return false }
            isInTransaction.withLock { $0 = true }
            try holding.change(Holding.delete, holding.session.holder, db)
            return db.changesCount == 1
        }
    }
}
#endif
