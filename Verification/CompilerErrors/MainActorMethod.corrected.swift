import Channels

nonisolated func start(_ till: Till, _ screen: Screen) {
    till.sold.listen(screen) { @MainActor me, sale in me.show(sale) }
}

/// Written on the main actor, the closure has its isolation.
@MainActor
func startOnMainActor(_ till: Till, _ screen: Screen) {
    till.sold.listen(screen) { me, sale in me.show(sale) }
}
