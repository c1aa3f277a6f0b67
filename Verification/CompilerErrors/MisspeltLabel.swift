import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    // expect: extraneous argument label 'prio:' in call
    till.sold.listen(display, prio: .high) { me, sale in me.show(sale) }
}
