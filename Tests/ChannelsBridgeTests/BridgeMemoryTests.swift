import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// What is released with a bridge.
@Suite(.hangLimit)
struct BridgeMemoryTests {
    private let broker = InMemoryBroker()

    /// A transport may keep what it was given to tell its events to.
    @Test func nothingOfABridgeThatHasRunIsLeft() async throws {
        weak var transport: InMemoryTransport?
        weak var bridge: Bridge?
        do {
            let given = InMemoryTransport(broker)
            let till = await MiniProcess("till", given, [.both(.sold), .answering(.price)])
            till.board[.sold].post(Sale(total: 1))
            (transport, bridge) = (given, till.bridge)
            try await till.stop()
        }
        await wait(for: (transport, bridge)) { $0.0 == nil && $0.1 == nil }
    }

    /// Its durable routes wait for messages in a task.
    @Test func nothingOfABridgeThatNeverRunsIsLeft() async {
        weak var transport: InMemoryTransport?
        do {
            let (given, board) = (InMemoryTransport(broker), Switchboard())
            let routes: [BridgeRoute] = [.both(.sold, durable: true), .outgoing(.ordered, durable: true)]
            let bridge = Bridge("till", switchboard: board, transport: given, routes: routes)
            transport = given
            board[.sold].post(Sale(total: 1))
            withExtendedLifetime(bridge) {}
        }
        await wait(for: transport) { $0 == nil }
    }
}
