#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import TestSupport
import Testing

/// States of a pattern over a file. What holds with every transport is tested in memory.
@Suite(.hangLimit)
struct MatchingStatesTests {
    private let file = TemporaryFile()

    /// A bridge that runs.
    private struct Node {
        let board = Switchboard()
        let bridge: Bridge
        let running: Task<Void, any Error>

        init(_ name: String, _ file: TemporaryFile) async throws {
            let bridge = Bridge(
                name,
                switchboard: board,
                transport: SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: .seconds(86_400))),
                routes: [.both(statesMatching: "presence.*", of: Presence.self)]
            )
            self.bridge = bridge
            running = Task { try await bridge.run() }
            try await bridge.waitUntilReady()
        }

        func state(_ name: String) throws -> StateChannel<Presence> {
            try board.state("presence.\(name)", of: Presence.self, initial: Presence())
        }

        func stop() async throws {
            running.cancel()
            try await running.value
        }
    }

    @Test func valuesGoBetweenProcessesAndStayForThoseThatJoinLate() async throws {
        let till = try await Node("till", file)
        let kitchen = try await Node("kitchen", file)
        for beat in 1...5 {
            try till.state("till").update { $0.beat = beat }
            _ = try await kitchen.state("till").first { $0.beat == beat }
            try kitchen.state("kitchen").update { $0.beat = beat * 10 }
            _ = try await till.state("kitchen").first { $0.beat == beat * 10 }
        }
        for node in [till, kitchen] { try await node.stop() }
        let late = try await Node("late", file)
        #expect(try late.state("till").value.beat == 5 && late.state("kitchen").value.beat == 50)
        #expect(late.bridge.statistics.received == 2 && till.bridge.statistics.sent == 5)
        #expect(till.bridge.statistics.echoes == 0 && kitchen.bridge.statistics.received == 5)
        try await late.stop()
    }
}
#endif
