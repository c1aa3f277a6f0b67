import Channels

// D. A state: a late listener receives the current value first, and then every later one, without a gap.
extension StateName<Totals> {
    static var ledger: Self { "ledger" }
}

/// Starts listening after half of the sales.
@MainActor
final class Latecomer {
    private var values = 0
    private var first: Totals?
    private var last: Totals?

    func join(_ ledger: StateChannel<Totals>) {
        ledger.listen(self) { me, totals in me.note(totals) }
    }

    private func note(_ totals: Totals) {
        values += 1
        if first == nil { first = totals }
        last = totals
    }

    func report() {
        guard let first, let last else { return }
        let more = (values - 1).of("change", "changes")
        say(
            "latecomer",
            "first \(first.bills.dollars), after \(first.sales.of("sale", "sales")); then \(more), up to \(last.bills.dollars)"
        )
    }
}

@MainActor
func statefulMiddleware(_ sales: [Sale], _ stage: Stage) -> Totals {
    heading("The ledger: a state")
    let ledger = stage.board.state(.ledger, initial: Totals())
    let latecomer = Latecomer()
    for (index, sale) in sales.enumerated() {
        if index == sales.count / 2 { latecomer.join(ledger) }
        ledger.update { $0.add(sale) }
    }
    latecomer.report()
    say("ledger", "\(ledger.value.bills.dollars) in all")
    stage.keep(latecomer)
    return ledger.value
}
