import Channels

nonisolated func withoutOwner(_ till: Till, _ display: Display) {
    // expect: (Display, Sale) throws -> Void' expects 2 arguments, but 1 was used in closure body
    till.sold.listen(display) { sale in print(sale) }
}

nonisolated func withOneTooMany(_ till: Till, _ display: Display) {
    // expect: (Display, Sale) throws -> Void' expects 2 arguments, but 3 were used in closure body
    till.sold.listen(display) { me, sale, sender in me.show(sale) }
}

nonisolated func withNone(_ till: Till, _ display: Display) {
    // expect: expects 2 arguments, which cannot be implicitly ignored
    till.opened.listen(display) { print("opened") }
}
