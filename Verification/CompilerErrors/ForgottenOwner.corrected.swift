import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display) { me, sale in print(sale) }
}
