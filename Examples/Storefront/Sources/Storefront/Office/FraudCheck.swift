import Channels
import Logging

/// Holds sales that cannot be right, before any listener receives them.
///
/// An interceptor runs where the sale is posted, before the listeners.
final class FraudCheck: Sendable {
    private let office: StateChannel<Office>
    private let logger: Logger

    init(on board: Switchboard, logger: Logger) {
        office = board.state(.office, initial: Office())
        self.logger = logger
        board[.rung].intercept(self, priority: .high) { me, post in
            me.holds(post.message) ? .stop : .continue
        }
    }

    /// Returns why a sale is held; nil if it is not.
    static func suspicion(_ sale: Sale) -> String? {
        if sale.tip > sale.bill { return "the tip is larger than the bill" }
        if sale.bill > sale.guests * 100_000 { return "more than $1,000 for each guest" }
        return nil
    }

    private func holds(_ sale: Sale) -> Bool {
        guard let suspicion = Self.suspicion(sale) else { return false }
        logger.notice("sale \(sale.id) is held: \(suspicion)")
        office.update { $0.hold() }
        return true
    }
}
