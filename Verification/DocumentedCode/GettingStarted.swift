nonisolated let till = Till()
@MainActor let display = Display(till)
let kitchen = Kitchen(till)
@MainActor let ledger = Ledger(till)
