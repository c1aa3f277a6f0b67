import Channels

nonisolated func start(_ till: Till, _ screen: Screen) {
    // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    till.sold.listen(screen) { me, sale in me.show(sale) }
}
