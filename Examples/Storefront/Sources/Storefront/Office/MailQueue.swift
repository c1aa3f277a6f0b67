import Channels
import Logging
import ServiceLifecycle
import Synchronization

/// Sends receipts.
protocol Postman: Sendable {
    /// Throws where it has to be tried again. May be called twice for one sale, after a crash: its number tells.
    func send(_ receipt: Booking) async throws
}

/// Stands in for a mail server.
struct LoggingPostman: Postman {
    let logger: Logger

    func send(_ receipt: Booking) async throws { logger.debug("receipt \(receipt.number) for \(receipt.sale.id)") }
}

/// Mails a receipt for each sale, in order, and tries again where that fails.
///
/// What is due stands in the ledger; the state only says that it is time to look. So one value that waits is
/// enough (`.newest(1)`), a slow postman holds nobody up, and what is left at the end is sent after the next start.
final class MailQueue: Service {
    private static let batch = 64
    private static let attempts = 5

    private let store: LedgerStore
    private let postman: any Postman
    private let office: StateChannel<Office>
    private let logger: Logger
    private let isClosing = Atomic(false)

    init(_ store: LedgerStore, _ postman: any Postman, on board: Switchboard, logger: Logger) {
        self.store = store
        self.postman = postman
        office = board.state(.office, initial: Office())
        self.logger = logger
    }

    func run() async throws {
        // The current state first: what an earlier run has left is sent at once.
        let token = office.listen(self, buffering: .newest(1)) { me, _ in try await me.deliver() }
        try? await gracefulShutdown()
        isClosing.store(true, ordering: .relaxed)
        // Returns when the call under way has finished: with the receipt it is at.
        await token.cancelAndDrain()
    }

    private func deliver() async throws {
        let due = try await store.due(atMost: Self.batch)
        guard !due.isEmpty else { return }
        var numbers: [LedgerStore.Mail: [Int]] = [:]
        for receipt in due { numbers[await send(receipt), default: []].append(receipt.number) }
        for (mail, numbers) in numbers { try await store.settle(numbers, mail) }
        // In a rush, several at a time.
        try? await Task.sleep(for: .milliseconds(50))
        // This change calls the listener once more, as long as anything is due.
        office.update { $0.mail(numbers[.sent]?.count ?? 0) }
    }

    private func send(_ receipt: Booking) async -> LedgerStore.Mail {
        for attempt in 1...Self.attempts {
            if isClosing.load(ordering: .relaxed) { return .due }
            do {
                try await postman.send(receipt)
                return .sent
            } catch {
                logger.warning("receipt \(receipt.number), attempt \(attempt): \(error)")
                try? await Task.sleep(for: .milliseconds(50 << attempt))
            }
        }
        return .undeliverable
    }
}
