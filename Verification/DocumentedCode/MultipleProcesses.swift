let tillBoard = Switchboard()
let kitchenBoard = Switchboard()
let sales: [Sale] = []
let transport = InMemoryTransport(InMemoryBroker())
let bridge = Bridge("till", transport: transport, routes: [])

extension ChannelName<Sale> { static var ordered: Self { "kitchen.ordered" } }
extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }
