import Testing

let channel = Channel<Int>()
let recorder = Recorder<Sale>()

extension Screen {
    convenience init(_ board: Switchboard) { self.init() }
    var total: Int { 12 }
}

extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
