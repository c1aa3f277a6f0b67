import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    // expect: no exact matches in call to instance method 'listen'
    till.sold.listen(display, prio: .high) { me, sale in me.show(sale) }
}
