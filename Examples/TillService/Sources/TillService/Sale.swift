import Channels

struct Sale: Codable, Sendable {
    let number: Int
}

extension ChannelName<Sale> {
    static var sold: Self { "shop.sold" }
}
