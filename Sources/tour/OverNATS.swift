#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS

/// A NATS server between the till and the kitchen.
struct OverNATS: TwoProcesses.Line {
    let place: String
    let weakness = "over core NATS a message is delivered at most once"
    let isDurable = false

    func transport() -> any Transport { NATSTransport(NATSConfiguration(servers: [place], name: "tour")) }

    func answering(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?) {
        ([.answering(.kitchenTotals)], nil)
    }

    func asking(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?) {
        ([.asking(.kitchenTotals)], nil)
    }
}
#endif
