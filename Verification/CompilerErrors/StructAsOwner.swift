import Channels

nonisolated struct Panel: Sendable {
    func show(_ sale: Sale) {}

    func start(_ till: Till) {
        // expect: only an object can own a listener: an actor, or an instance of a Sendable class;
        // expect: without an owner write 'let token = source.listen { message in … }' and keep the token
        till.sold.listen(self) { me, sale in me.show(sale) }
    }

    func startOnQueue(_ till: Till) {
        // expect: only an object can own a listener
        till.sold.listen(self, on: .main) { me, sale in me.show(sale) }
    }
}
