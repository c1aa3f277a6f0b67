import ChannelsBridge
import GRDB

extension ChannelName<Receipt> { static var sold: Self { "shop.sold" } }

nonisolated struct Order: Codable, PersistableRecord, Sendable { var dish = "soup" }
nonisolated struct Receipt: Codable, Sendable {
    var dish: String
    init(_ order: Order) { dish = order.dish }
}

nonisolated let board = Switchboard()
nonisolated let order = Order()
nonisolated let database = try! DatabaseQueue()
nonisolated let broker = InMemoryTransport(InMemoryBroker())  // stands for a NATSTransport

nonisolated struct Booking: Codable, PersistableRecord, Sendable {
    var dish: String
    init(_ receipt: Receipt) { dish = receipt.dish }
}
