#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS

/// Runs a bridge over a server, once it is ready, until the body returns.
func withBridge(
    over server: NATSServer,
    _ routes: [BridgeRoute],
    streams: [NATSStream] = [NATSStream("SHOP", subjects: ["shop.>"])],
    _ body: (Switchboard, Bridge) async throws -> Void
) async throws {
    var configuration = NATSConfiguration(servers: [server.url])
    configuration.streams = streams
    configuration.reconnectWait = .milliseconds(20)
    let board = Switchboard(onFault: { _ in })
    let bridge = Bridge(
        "till",
        switchboard: board,
        transport: NATSTransport(configuration),
        routes: routes,
        configuration: .patient
    )
    let running = Task { try await bridge.run() }
    try await bridge.waitUntilReady()
    try await body(board, bridge)
    running.cancel()
    try await running.value
}
#endif
