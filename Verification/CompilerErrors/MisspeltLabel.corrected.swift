import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display, priority: .high) { me, sale in me.show(sale) }
}
