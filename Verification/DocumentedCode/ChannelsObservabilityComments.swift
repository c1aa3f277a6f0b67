import ChannelsBridge
import ChannelsDiagnostics
import Logging
import ServiceLifecycle

extension ChannelName<Sale> { static var sold: Self { "shop.sold" } }

let logger = Logger(label: "shop")
let bridge = Bridge(
    "till",
    switchboard: board,
    transport: InMemoryTransport(InMemoryBroker()),
    routes: [.outgoing(.sold)]
)
