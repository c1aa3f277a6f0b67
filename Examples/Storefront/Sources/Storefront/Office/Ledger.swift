import Channels

/// Books every sale once, in the order posted, and keeps the office's state.
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
        // One call at a time. While 64 sales wait, whoever posts another learns from the report that it was dropped.
        board[.rung].listen(self, buffering: .oldest(64)) { me, sale in try await me.book(sale) }
    }

    /// Throws where the ledger cannot be written: the report of the post has the error.
    private func book(_ sale: Sale) async throws {
        // Nil for a sale that was booked before: it is as good as booked, and nobody hears of it twice.
        guard let booking = try await store.book(sale, on: board) else { return }
        office.update { $0.add(booking) }
        if sale.id.hasPrefix(Bills.prefix) { bills.update { $0 = ($0 ?? 0) + 1 } }
        board[.booked].post(booking)
    }

    func booking(_ id: String) async throws -> Booking? {
        // Who asks has usually just rung it up.
        if let booking = office.value.recent.first(where: { $0.sale.id == id }) { return booking }
        return try await store.booking(id)
    }
}
