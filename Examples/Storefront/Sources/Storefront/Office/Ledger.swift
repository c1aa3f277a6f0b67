import Channels

/// Books every sale once, in the order in which sales were posted, and keeps the office's state.
final class Ledger: Sendable {
    private let board: Switchboard
    private let store: LedgerStore
    private let office: StateChannel<Office>
    private let bills: StateChannel<Int?>

    init(_ store: LedgerStore, on board: Switchboard) throws {
        self.board = board
        self.store = store
        office = board.state(.office, initial: Office())
        bills = board.state(.billsBooked, initial: nil)
        bills.set(try store.count(ofIDsWith: Bills.prefix))
        // There is one call at a time. While 64 sales are waiting, another one is dropped, which the report
        // tells its poster.
        board[.rung].listen(self, buffering: .oldest(64)) { me, sale in try await me.book(sale) }
    }

    /// Books a sale. If the ledger cannot be written, the report of the post has the error.
    private func book(_ sale: Sale) async throws {
        // Nil for a sale that was booked before, which nobody is told twice.
        guard let booking = try await store.book(sale, on: board) else { return }
        office.update { $0.add(booking) }
        if sale.id.hasPrefix(Bills.prefix) { bills.update { $0 = ($0 ?? 0) + 1 } }
        board[.booked].post(booking)
    }

    func booking(_ id: String) async throws -> Booking? {
        // Whoever asks has usually just rung up the sale.
        if let booking = office.value.recent.first(where: { $0.sale.id == id }) { return booking }
        return try await store.booking(id)
    }
}
