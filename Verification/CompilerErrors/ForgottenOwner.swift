import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    // expect: (Sale) -> Void' expects 1 argument, but 2 were used in closure body
    let token = till.sold.listen { me, sale in print(sale) }
    token.cancel()
}
