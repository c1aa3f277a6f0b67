import ServiceLifecycle

let tillBoard = Switchboard()
let kitchenBoard = Switchboard()
let bridge = Bridge("till", transport: InMemoryTransport(InMemoryBroker()), routes: [])

extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }
