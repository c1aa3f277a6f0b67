import Channels
import ChannelsBridge
import Logging
import ServiceLifecycle
import Synchronization

/// Sends receipts.
protocol Postman: Sendable {
    /// Sends a receipt, or throws if it has to be tried again. After a crash, it may be called twice for one
    /// sale, which the number reveals.
    func send(_ receipt: Booking) async throws
}

/// Stands in for a mail server.
struct LoggingPostman: Postman {
    let logger: Logger

    func send(_ receipt: Booking) async throws { logger.debug("receipt \(receipt.number) for \(receipt.sale.id)") }
}

/// Mails a receipt for each sale, in order, and tries again if that fails.
///
/// A receipt that is due is stored with its sale in the file of the ledger until this listener has returned.
/// A slow postman therefore holds nobody up, and what is left at the end is sent after the next start.
final class MailQueue: Service {
    private static let attempts = 5

    /// Thrown to leave a receipt in the file.
    private struct Closing: Error {}

    private let store: LedgerStore
    private let postman: any Postman
    private let office: StateChannel<Office>
    private let logger: Logger
    private let bridge: Bridge
    private let isClosing = Atomic(false)

    init(_ store: LedgerStore, _ postman: any Postman, on board: Switchboard, logger: Logger) throws {
        self.store = store
        self.postman = postman
        office = board.state(.office, initial: Office())
        self.logger = logger
        bridge = Bridge(
            "mail",
            switchboard: board,
            transport: try Bridges.overFile(store.directory),
            routes: [.incoming(.receipt, durable: true).replaying(from: .beginning)]
        )
        board[.receipt].listen(self) { me, receipt in try await me.deliver(receipt) }
    }

    func run() async throws {
        try await withGracefulShutdownHandler {
            // Returns when the current call has finished with its receipt.
            try await cancelWhenGracefulShutdown { [bridge] in try await bridge.run() }
        } onGracefulShutdown: {
            self.isClosing.store(true, ordering: .relaxed)
        }
    }

    private func deliver(_ receipt: Booking) async throws {
        let mail = try await send(receipt)
        let isNew = try await store.settle(receipt.number, mail)
        if isNew, mail == .sent { office.update { $0.mail(1) } }
    }

    private func send(_ receipt: Booking) async throws -> LedgerStore.Mail {
        for attempt in 1...Self.attempts {
            if isClosing.load(ordering: .relaxed) { throw Closing() }
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
