let tillBoard = Switchboard()
let kitchenBoard = Switchboard()
let sales: [Sale] = []
let transport = InMemoryTransport(InMemoryBroker())
let file = transport
let broker = transport
let bridge = Bridge("till", transport: transport, routes: [])
let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
let sale = soup

struct Order: Codable, Sendable {}

extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }
extension StateName<Sales> { static var sales: Self { "shop.sales" } }
extension RequestName<String, Int> { static var price: Self { "shop.price" } }
extension ChannelName<Order> {
    static var ordered: Self { "kitchen.ordered" }
    static var cooking: Self { "kitchen.cooking" }
}
func cook(_ order: Order) async throws {}
let board = Switchboard()
