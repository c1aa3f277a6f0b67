import Channels

nonisolated func start(_ sold: LocalChannel<Sale>, _ display: Display) {
    // expect: a local channel calls its listeners before 'post' returns, so they cannot await:
    // expect: start a Task in the closure, or use a Channel
    sold.listen(display) { me, sale in try await me.store(sale) }
}

nonisolated func startWithoutOwner(_ sold: LocalChannel<Sale>, _ display: Display) {
    // expect: a local channel calls its listeners before 'post' returns
    let token = sold.listen { sale in try await display.store(sale) }
    token.cancel()
}
