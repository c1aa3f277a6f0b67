import ChannelsBridge

extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }

@MainActor var configuration = NATSConfiguration(servers: ["nats://127.0.0.1:4222"])
