import Channels
import Dispatch

nonisolated func start(_ till: Till, _ display: Display, _ printing: DispatchQueue) {
    till.sold.listen(display, on: printing) { me, sale in me.show(sale) }
}

nonisolated func startWithoutOwner(_ till: Till, _ printing: DispatchQueue) {
    let token = till.sold.listen(on: printing) { sale in print(sale) }
    token.cancel()
}
