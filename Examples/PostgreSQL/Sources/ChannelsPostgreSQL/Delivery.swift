internal import ChannelsBridge
internal import Synchronization

/// A message that a session has claimed in the table, until it is settled.
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

    /// The statement with which a listener settles the message in its own transaction.
    func removal() -> Statement {
        isInTransaction.store(true, ordering: .relaxed)
        let mine = "name = $1 AND number = $2 AND deliveries = $3 AND holder = $4"
        return Statement("DELETE FROM channels_unsettled WHERE \(mine)", place)
    }

    /// The statement that settles the message, gives it back, or stores its letter: `channels_settle`.
    func settling(delay: Duration? = nil, letter: TransportMessage? = nil) -> Statement {
        let rest = [delay.map { .seconds($0) } ?? .null] + (letter?.parameters ?? [.null, .null, .null])
        return Statement("SELECT channels_settle($1, $2, $3, $4, $5, $6, $7, $8)", place + rest)
    }

    func settle(_ settlement: Settlement?) {
        let delay: Duration? =
            switch settlement {
            case .retry(let wanted): wanted
            // Released without a settlement. In the next case, the listener's transaction may have been
            // rolled back, so that the message is still there.
            case nil: .seconds(1)
            case .acknowledged where isSettledByListener: .seconds(1)
            default: nil
            }
        mailbox.send { [self] session in
            session.settle(self, settling(delay: delay), isDurable: false) { result in
                // On failure, the connection is lost, and everything that it held is free.
                if case .success = result { session.release(self, comesAfter: delay) }
            }
        }
    }

    /// Stores a dead letter in the transaction that settles the message.
    ///
    /// - Returns: False if a listener has settled the message, or this process no longer has it. Then no
    ///   letter is stored.
    /// - Throws: The errors of publishing the letter. Then nothing has changed.
    func refuse(keeping letter: TransportMessage) async throws -> Bool {
        try await mailbox.ask { [self] session, once in
            do { try Schema.check(letter) } catch { return once.finish(.failure(error)) }
            session.settle(self, settling(letter: letter), isDurable: true) { result in
                once.finish(result.mapError { BridgeError.from($0, subject: letter.subject) })
            }
        }
    }
}
