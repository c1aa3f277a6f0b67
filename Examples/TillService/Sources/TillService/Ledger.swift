import Channels

/// Writes the sales down that come over the bridge. It takes its time.
actor Ledger {
    private(set) var sales: [Int] = []

    func listen(to board: Switchboard) {
        board[.sold].listen(self) { me, sale in
            try await Task.sleep(for: .milliseconds(2))
            me.sales.append(sale.number)
        }
    }
}
