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

    init(_ subscription: TransportSubscription, _ name: String, _ queue: HandlerQueue<InboundMessage>) {
        (self.subscription, self.name, self.queue) = (subscription, name, queue)
        pattern = subscription.pattern
    }

    /// How many it holds at most: others of the name have their share, too.
    private var limit: Int { min(subscription.unsettledLimit, 256) }

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
        return message
    }

    /// A message that was handed out, until it is settled or released.
    private final class Delivery: Sendable {
        private static let delete = "DELETE FROM channels_unsettled"
        private static let release = "UPDATE channels_unsettled SET holder = NULL"
        /// How long a message waits that was released without being settled.
        private static let releaseDelay = Duration.seconds(1)

        private let name: SQLiteDurableName
        private let id: Int64
        private let number: Int64
        private let delivery: Int
        private let byteCount: Int
        /// The epoch of the file in which the message was taken. In a copy, the number may belong to another
        /// message.
        private let epoch: Int
        private let session: SQLiteSession
        private let isSettled = Locked(false)

        init(
            _ name: SQLiteDurableName,
            _ id: Int64,
            _ item: SQLiteTaking.Taken,
            _ epoch: Int,
            _ session: SQLiteSession
        ) {
            (self.name, self.id, self.number, self.delivery) = (name, id, item.number, item.delivery)
            (self.byteCount, self.epoch, self.session) = (item.message.byteCount, epoch, session)
        }

        deinit { settle(.retry(after: Self.releaseDelay)) }

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
            let (id, number, delivery, epoch) = (id, number, delivery, epoch)
            let holder = session.holder
            let change = { @Sendable [session] (sql: String) in
                session.settle { db in
                    guard session.file.epoch == epoch else { return }
                    try db.cachedStatement(
                        sql: sql + " WHERE consumer = ? AND number = ? AND deliveries = ? AND holder = ?"
                    )
                    .execute(arguments: [id, number, delivery, holder])
                }
            }
            switch settlement {
            case .acknowledged, .terminated: change(Self.delete)
            case .retry(let delay) where delay <= .zero: change(Self.release)
            case .retry(let delay):
                // Until then, it stays with this connection, which alone knows the delay.
                Task {
                    try? await ContinuousClock().sleep(atMost: delay)
                    change(Self.release)
                }
            }
            if hasMore { session.ring() }
        }
    }
}
#endif
