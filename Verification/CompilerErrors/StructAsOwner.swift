import Channels

nonisolated struct Panel: Sendable {
    func show(_ sale: Sale) {}

    func start(_ till: Till) {
        // expect: requires that 'Panel' conform to 'Actor'
        till.sold.listen(self) { me, sale in me.show(sale) }
    }

    func startOnQueue(_ till: Till) {
        // expect: requires that 'Panel' be a class type
        till.sold.listen(self, on: .main) { me, sale in me.show(sale) }
    }
}
