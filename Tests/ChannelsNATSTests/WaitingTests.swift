#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// Bridges whose server is not there yet, and bridges that run again.
@Suite(.fewServers, .hangLimit)
struct WaitingForTheServerTests {
    private func bridge(_ board: Switchboard, _ server: NATSServer, _ routes: [BridgeRoute]) -> Bridge {
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
        configuration.reconnectWait = .milliseconds(20)
        return Bridge(
            "till",
            switchboard: board,
            transport: NATSTransport(configuration),
            routes: routes,
            configuration: .patient
        )
    }

    @Test func bridgeOlderThanItsServerSendsWhatWasPostedMeanwhile() async throws {
        let server = try await NATSServer()
        server.kill()
        let faults = Recorder<Fault>()
        let board = Switchboard(onFault: { faults.record($0) })
        let bridge = bridge(board, server, [.outgoing(.number, durable: true), .both(state: .level, initial: 7)])
        let running = Task { try await bridge.run() }
        _ = await bridge.status.first { $0.reason?.code == .notConnected }
        for number in 0..<100 { board[.number].post(number) }
        try await server.start()
        try await bridge.waitUntilReady()
        // The bridge creates the stream with its first message, which may come later.
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let heard = Recorder<Int>()
        try await peer.transport.subscribe(to: "shop.number", durableName: "reader") { message in
            heard.record(Int(message.text) ?? -1)
            message.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 100) == Array(0..<100))
        running.cancel()
        try await running.value
        #expect(faults.all.count == 1 && bridge.statistics.dropped == 0)
        try await peer.close()
    }

    @Test func bridgeRunsAgainOverTheSameTransport() async throws {
        let server = try await NATSServer()
        let board = Switchboard(onFault: { _ in })
        let bridge = bridge(board, server, [.both(.number, durable: true), .both(state: .level, initial: 0)])
        for run in 0..<3 {
            let running = Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
            #expect(await board[.number].postAndWait(run).isComplete)
            running.cancel()
            try await running.value
        }
        #expect(bridge.statistics.sent >= 3 && bridge.statistics.failed == 0)
    }

    /// What it holds is newer than what is left of an earlier run.
    @Test func bridgeThatRunsAgainTakesTheStateThatOthersHaveSetMeanwhile() async throws {
        let server = try await NATSServer()
        let boards = [Switchboard(onFault: { _ in }), Switchboard(onFault: { _ in })]
        let bridges = boards.map { bridge($0, server, [.both(state: .level, initial: 0)]) }
        let states = boards.map { $0.state(.level, initial: 0) }
        let first = Task { try await bridges[0].run() }
        try await bridges[0].waitUntilReady()
        states[0].set(1)
        let second = Task { try await bridges[1].run() }
        _ = await states[1].first { $0 == 1 }
        second.cancel()
        try await second.value
        states[0].set(2)
        states[0].set(3)
        let again = Task { try await bridges[1].run() }
        #expect(await states[1].first { $0 == 3 } == 3)
        for task in [first, again] {
            task.cancel()
            try await task.value
        }
    }
}

extension StateName<Int> {
    fileprivate static var level: Self { "shop.level" }
}
#endif
