#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import Synchronization
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

        init(
            _ name: String,
            _ file: TemporaryFile,
            _ routes: [BridgeRoute] = [.both(statesMatching: "presence.*", of: Presence.self)],
            prepare: (Switchboard) -> Void = { _ in }
        ) async throws {
            prepare(board)
            let bridge = Bridge(
                name,
                switchboard: board,
                transport: SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: .seconds(86_400))),
                routes: routes
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

    /// The process that has nothing to say starts first.
    @Test func anInitialValueYieldsToOneThatWasSetBefore() async throws {
        let name: StateName<Presence> = "presence.shared"
        let routes: [BridgeRoute] = [.both(state: name, initial: Presence())]
        let watcher = try await file.connected()
        let stored = Recorder<String>()
        try await watcher.watch("presence.shared") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        let unset = try await Node("unset", file, routes)
        await stored.wait(count: 1)
        let till = try await Node("till", file, routes) { $0.state(name, initial: Presence()).update { $0.beat = 41 } }
        _ = try await unset.state("shared").first { $0.beat == 41 }
        let late = try await Node("late", file, routes)
        _ = try await late.state("shared").first { $0.beat == 41 }
        try await watcher.close(timeout: .patience)
        for node in [unset, till, late] { try await node.stop() }
        #expect(stored.all == [#"{"beat":0}"#, #"{"beat":41}"#])
    }

    /// As in the guide *Multiple processes*. One of them stops beating, as one does that was killed.
    @Test func presenceEndsWithItsProcess() async throws {
        let (time, heard) = (TestTime(), Recorder<String>())
        let attendance = Mutex(Attendance())
        let silent = try await Node("silent", file)
        let tokens = Recorder<ListenerToken>()
        let reader = try await Node("reader", file) { board in
            let token = board[matching: "presence.*"].listen { post in
                guard let presence = post.message as? Presence, let name = post.channelName else { return }
                attendance.withLock { $0.hear(presence.beat, of: name, at: time.now) }
                heard.record("\(name) \(presence.beat)")
            }
            tokens.record(token)
        }
        func beat(_ number: Int, _ nodes: [(Node, String)]) async throws -> Set<String> {
            time.advance(by: .seconds(5))
            for (node, name) in nodes { try node.state(name).update { $0.beat += 1 } }
            await heard.wait { heard in nodes.allSatisfy { heard.contains("presence.\($0.1) \(number)") } }
            return attendance.withLock { $0.present(at: time.now) }
        }
        let both: Set<String> = ["presence.silent", "presence.reader"]
        let all = [(silent, "silent"), (reader, "reader")]
        #expect(try await beat(1, all) == [])
        #expect(try await beat(2, all) == both)
        for number in 3...4 { #expect(try await beat(number, [(reader, "reader")]) == both) }
        #expect(try await beat(5, [(reader, "reader")]) == ["presence.reader"])
        for node in [reader, silent] { try await node.stop() }
    }

    @Test func subjectsOfAPatternAreWatchedInTheOrderOfTheirRevisions() async throws {
        let reader = try await file.connected()
        let values = Recorder<StoredValue>()
        _ = try await reader.store(message("a", to: "presence.a"))
        try await reader.watch("presence.>") { values.record($0) }
        _ = try await reader.store(message("b", to: "presence.b"))
        _ = try await reader.store(message("other", to: "shop.open"))
        _ = try await reader.store(message("c", to: "presence.a"))
        let seen = await values.wait(count: 3)
        #expect(seen.map { String(decoding: $0.message.body, as: UTF8.self) } == ["a", "b", "c"])
        #expect(seen[2].revision > seen[0].revision)
        try await reader.close(timeout: .patience)
    }
}
#endif
