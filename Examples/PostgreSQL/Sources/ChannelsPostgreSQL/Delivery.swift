internal import ChannelsBridge
internal import Synchronization

/// Where the table says that a session has a message.
struct Holding: Hashable, Sendable {
    let name: Int64
    let number: Int64
    let deliveries: Int
    let token: Int64

    private var parameters: [Parameter] { [.int(name), .int(number), .int(deliveries), .int(token)] }

    /// Settles the message in a listener's transaction.
    var removal: Statement {
        let mine = "name = $1 AND number = $2 AND deliveries = $3 AND holder = $4"
        return Statement("DELETE FROM channels_unsettled WHERE \(mine)", parameters)
    }

    /// Settles the message, or gives it back, or keeps its letter: `channels_settle`.
    func settling(delay: Duration? = nil, letter: TransportMessage? = nil) -> Statement {
        let rest = [delay.map { .seconds($0) } ?? .null] + (letter?.parameters ?? [.null, .null, .null])
        return Statement("SELECT channels_settle($1, $2, $3, $4, $5, $6, $7, $8)", parameters + rest)
    }
}

/// A claimed message that was handed out, until it is settled or released.
///
/// The flags are guarded by their lock.
final class PostgreSQLDelivery: DeliveryContext {
    /// How long a message waits that was released without being settled.
    private static let releaseDelay = Duration.seconds(1)

    let holding: Holding
    private let mailbox: Mailbox
    private let byteCount: Int
    private let flags = Mutex((hasEnded: false, isInTransaction: false))

    init(_ holding: Holding, _ mailbox: Mailbox, byteCount: Int) {
        (self.holding, self.mailbox, self.byteCount) = (holding, mailbox, byteCount)
    }

    deinit { settle(.retry(after: Self.releaseDelay)) }

    var isSettledByListener: Bool { flags.withLock { $0.isInTransaction } }

    /// A listener settles it in a transaction of its own from now on.
    func enterTransaction() { flags.withLock { $0.isInTransaction = true } }

    /// Keeps no reference to this object, which may be in its deinit.
    func settle(_ settlement: Settlement) {
        guard end() else { return }
        let delay: Duration? =
            switch settlement {
            case .retry(let wanted): wanted
            // If the listener's transaction was rolled back, the message is still there, and comes again.
            case .acknowledged where isSettledByListener: Self.releaseDelay
            default: nil
            }
        let statement = holding.settling(delay: delay)
        mailbox.send { [holding, byteCount] session in
            session.settle(holding, statement, isDurable: false) { result in
                // Otherwise the connection is lost, and everything that it held is free.
                if case .success = result { session.release(holding, byteCount, comesAfter: delay) }
            }
        }
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
        let statement = holding.settling(letter: letter)
        let isKept: Bool = try await mailbox.ask { [holding] session, once in
            let limit = session.configuration.bodyLimit
            guard letter.body.count <= limit else {
                let detail = "\(letter.body.count) bytes, the bodyLimit is \(limit)"
                return once.finish(.failure(BridgeError(.payloadTooLarge, subject: letter.subject, detail: detail)))
            }
            session.settle(holding, statement, isDurable: true) { result in
                once.finish(result.mapError { BridgeError.from($0, subject: letter.subject) })
            }
        }
        if end() { mailbox.send { [holding, byteCount] in $0.release(holding, byteCount, comesAfter: nil) } }
        return isKept
    }
}
