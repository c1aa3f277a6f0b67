internal import ChannelsBridge
internal import Synchronization

/// Where the table says that a session has a message.
struct Holding: Hashable, Sendable {
    let name: Int64
    let number: Int64
    let deliveries: Int
    let token: Int64

    init(_ name: Int64, _ number: Int64, _ deliveries: Int, _ token: Int64) {
        (self.name, self.number, self.deliveries, self.token) = (name, number, deliveries, token)
    }

    private static let isMine = "name = $1 AND number = $2 AND deliveries = $3 AND holder = $4"

    private var parameters: [Parameter] { [.int(name), .int(number), .int(deliveries), .int(token)] }

    /// Waits for a transaction that settles it, too.
    var removal: Statement { Statement("DELETE FROM channels_unsettled WHERE \(Self.isMine)", parameters) }

    /// Returns whether it is settled now, and whether it was held before. If only the latter, a listener's transaction has
    /// it: the thread of a connection does not wait for that.
    func statement(for settlement: Settlement) -> Statement {
        var (change, parameters) = ("DELETE FROM channels_unsettled AS u USING mine", parameters)
        if case .retry(let delay) = settlement {
            change =
                "UPDATE channels_unsettled AS u SET holder = NULL, due = clock_timestamp() + $5 * interval '1 second' FROM mine"
            parameters.append(.seconds(delay))
        }
        return Statement(
            """
            WITH mine AS (SELECT name, number FROM channels_unsettled WHERE \(Self.isMine) FOR UPDATE SKIP LOCKED),
            done AS (\(change) WHERE u.name = mine.name AND u.number = mine.number RETURNING 1)
            SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM channels_unsettled WHERE \(Self.isMine))
            """,
            parameters
        )
    }

    /// Keeps a letter and removes the message: both or neither.
    func refusal(keeping letter: TransportMessage) -> Statement {
        Statement(
            """
            WITH mine AS (SELECT name, number FROM channels_unsettled WHERE \(Self.isMine) FOR UPDATE SKIP LOCKED),
            done AS (DELETE FROM channels_unsettled AS u USING mine WHERE u.name = mine.name AND u.number = mine.number RETURNING 1),
            letter AS (INSERT INTO channels_messages (subject, headers, body) SELECT $5, $6, $7 FROM done)
            SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM channels_unsettled WHERE \(Self.isMine))
            """,
            parameters + [.text(letter.subject), .text(letter.headers.lines), .bytes(letter.body)]
        )
    }
}

/// A claimed message that was handed out, until it is settled or released.
///
/// The flags are guarded by their lock.
final class PostgreSQLDelivery: DeliveryContext {
    private struct Flags {
        var hasEnded = false
        var isInTransaction = false
    }

    /// How long a message waits that was released without being settled.
    private static let releaseDelay = Duration.seconds(1)

    let holding: Holding
    private let mailbox: Mailbox
    private let release: @Sendable (Session) -> Void
    private let flags = Mutex(Flags())

    init(_ holding: Holding, _ mailbox: Mailbox, release: @escaping @Sendable (Session) -> Void) {
        (self.holding, self.mailbox, self.release) = (holding, mailbox, release)
    }

    deinit { settle(.retry(after: Self.releaseDelay)) }

    var isSettledByListener: Bool { flags.withLock { $0.isInTransaction } }

    /// A listener settles it in a transaction of its own from now on.
    func enterTransaction() { flags.withLock { $0.isInTransaction = true } }

    /// Keeps no reference to this object, which may be in its deinit.
    func settle(_ settlement: Settlement) {
        guard end() else { return }
        // If the listener's transaction was rolled back, the message is still there, and comes again.
        let isDecided = settlement == .acknowledged && isSettledByListener
        let settlement = isDecided ? .retry(after: Self.releaseDelay) : settlement
        mailbox.send { [holding, release] in $0.settle(holding, settlement, release) }
    }

    /// Whether it had not ended before.
    private func end() -> Bool {
        flags.withLock { flags in
            defer { flags.hasEnded = true }
            return !flags.hasEnded
        }
    }

    /// Keeps a dead letter of it in the transaction that settles it.
    ///
    /// - Returns: False if the listener has settled it, or this process has it no more; then no letter is kept.
    /// - Throws: The errors of publishing the letter; nothing has changed then.
    func refuse(keeping letter: TransportMessage) async throws -> Bool {
        let isKept = try await mailbox.ask { [holding] in $0.refuse(holding, letter, $1) }
        if end() { mailbox.send { [release] in release($0) } }
        return isKept
    }
}

extension Session {
    /// Tries again while a listener's transaction has it: which of the two commits first decides.
    fileprivate func refuse(_ holding: Holding, _ letter: TransportMessage, _ once: Once<Bool>) {
        guard letter.body.count <= configuration.bodyLimit else {
            let detail = "\(letter.body.count) bytes, the bodyLimit is \(configuration.bodyLimit)"
            return once.finish(.failure(BridgeError(.payloadTooLarge, subject: letter.subject, detail: detail)))
        }
        add(
            Change(statements: [holding.refusal(keeping: letter)], isDurable: true) { session, result in
                switch result {
                case .success(let answers):
                    let row = answers[0].rows[0]
                    if row.bool(0) || !row.bool(1) { return once.finish(.success(row.bool(0))) }
                    session.after(.milliseconds(50)) { $0.refuse(holding, letter, once) }
                case .failure(let error): once.finish(.failure(BridgeError.from(error, subject: letter.subject)))
                }
            }
        )
    }
}
