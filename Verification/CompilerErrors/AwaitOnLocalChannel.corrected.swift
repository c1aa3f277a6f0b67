import Channels

nonisolated func start(_ sold: LocalChannel<Sale>, _ display: Display) {
    sold.listen(display) { me, sale in
        Task { try await me.store(sale) }
    }
}

nonisolated func startWithoutOwner(_ sold: Channel<Sale>, _ display: Display) {
    let token = sold.listen { sale in try await display.store(sale) }
    token.cancel()
}
