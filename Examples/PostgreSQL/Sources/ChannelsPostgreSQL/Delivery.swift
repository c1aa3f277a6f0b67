internal import ChannelsBridge
internal import Synchronization

/// A message that a session has claimed, as the table says, until it is settled.
final class PostgreSQLDelivery: DeliveryContext {
    let name: Int64
    let token: Int64
    let byteCount: Int
    private let place: [Parameter]
    private let mailbox: Mailbox
    private let isInTransaction = Atomic(false)

    init(name: Int64, number: Int64, deliveries: Int, token: Int64, byteCount: Int, _ mailbox: Mailbox) {
        (self.name, self.token, self.byteCount, self.mailbox) = (name, token, byteCount, mailbox)
        place = [.int(name), .int(number), .int(deliveries), .int(token)]
    }

    var isSettledByListener: Bool { isInTransaction.load(ordering: .relaxed) }

    /// The statement with which a listener settles it in a transaction of its own.
    func removal() -> Statement {
        isInTransaction.store(true, ordering: .relaxed)
        let mine = "name = $1 AND number = $2 AND deliveries = $3 AND holder = $4"
        return Statement("DELETE FROM channels_unsettled WHERE \(mine)", place)
    }

    /// Settles the message, or gives it back, or keeps its letter: `channels_settle`.
    func settling(delay: Duration? = nil, letter: TransportMessage? = nil) -> Statement {
        let rest = [delay.map { .seconds($0) } ?? .null] + (letter?.parameters ?? [.null, .null, .null])
        return Statement("SELECT channels_settle($1, $2, $3, $4, $5, $6, $7, $8)", place + rest)
    }

    func settle(_ settlement: Settlement?) {
        let delay: Duration? =
            switch settlement {
            case .retry(let wanted): wanted
            // Released. Or the listener's transaction was rolled back, and the message is still there.
            case nil: .seconds(1)
            case .acknowledged where isSettledByListener: .seconds(1)
            default: nil
            }
        mailbox.send { [self] session in
            session.settle(self, settling(delay: delay), isDurable: false) { result in
                // Otherwise the connection is lost, and everything that it held is free.
                if case .success = result { session.release(self, comesAfter: delay) }
            }
        }
    }

    /// Keeps a dead letter of it in the transaction that settles it.
    ///
    /// - Returns: False if the listener has settled it, or this process has it no more; then no letter is kept.
    /// - Throws: The errors of publishing the letter; nothing has changed then.
    func refuse(keeping letter: TransportMessage) async throws -> Bool {
        try await mailbox.ask { [self] session, once in
            do { try Schema.check(letter) } catch { return once.finish(.failure(error)) }
            session.settle(self, settling(letter: letter), isDurable: true) { result in
                once.finish(result.mapError { BridgeError.from($0, subject: letter.subject) })
            }
        }
    }
}
