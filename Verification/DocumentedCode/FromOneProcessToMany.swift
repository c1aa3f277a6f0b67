import ServiceLifecycle

let tillBoard = Switchboard()
let kitchenBoard = Switchboard()

extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }
