import Channels
import ChannelsBridge
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
/// What is due stands in the file of the ledger, stored with its sale, until this listener has returned: a slow postman
/// holds nobody up, and what is left at the end is sent after the next start.
final class MailQueue: Service {
    private static let attempts = 5

    /// Leaves the receipt in the file.
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
            // Returns when the call under way has finished: with the receipt it is at.
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
