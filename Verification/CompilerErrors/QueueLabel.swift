import Channels
import Dispatch

nonisolated func start(_ till: Till, _ display: Display, _ printing: DispatchQueue) {
    // expect: write 'on:' instead of 'queue:'
    till.sold.listen(display, queue: printing) { me, sale in me.show(sale) }
}

nonisolated func startWithoutOwner(_ till: Till, _ printing: DispatchQueue) {
    // expect: write 'on:' instead of 'queue:'
    let token = till.sold.listen(queue: printing) { sale in print(sale) }
    token.cancel()
}
