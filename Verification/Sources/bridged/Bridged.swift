import Channels
import ChannelsBridge
import ChannelsNATS
import Foundation

/// Prints a line at once: it must be there when the process is killed.
private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// One process of the proofs over NATS. It prints a line for each thing that happens, and ends its bridge on
/// SIGTERM as an operator expects.
///
///     bridged send URLS COUNT SIZE [PAUSE]   posts numbered messages, as fast as there is room, or one in PAUSE milliseconds
///     bridged hear URLS NAME PAUSE [BAD]     prints what it receives; each message takes PAUSE milliseconds, and the first BAD fail
///     bridged state URLS NAME                sets the numbers it reads to a state, and prints its values
///
/// URLS are separated by commas. The environment may have BRIDGED_REPLICAS, BRIDGED_BACKOFF, the longest delay in seconds, and
/// BRIDGED_STREAM=no, with which no stream is declared.
@main
enum Bridged {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("send"?, 4...): try await send(arguments[1], Int(arguments[2])!, Int(arguments[3])!, number(4, arguments))
        case ("hear"?, 4...): try await hear(arguments[1], arguments[2], Int(arguments[3])!, number(4, arguments))
        case ("state"?, 3...): try await state(arguments[1], arguments[2])
        default: exit(64)
        }
    }

    private static func number(_ index: Int, _ arguments: [String]) -> Int {
        index < arguments.count ? Int(arguments[index])! : 0
    }

    private static func setting(_ name: String) -> String? { ProcessInfo.processInfo.environment["BRIDGED_\(name)"] }

    private struct Bad: Error {}

    private struct Numbered: Codable, Sendable {
        var number: Int
        var padding: String
    }

    private static let numbered: ChannelName<Numbered> = "proof.numbered"
    private static let level: StateName<Int> = "proof.level"

    private static func bridge(_ urls: String, _ name: String, _ board: Switchboard, _ route: BridgeRoute) -> Bridge {
        var configuration = NATSConfiguration(servers: urls.split(separator: ",").map(String.init))
        if setting("STREAM") != "no" { configuration.streams = [NATSStream("PROOF", subjects: ["proof.numbered"])] }
        if let replicas = setting("REPLICAS").flatMap(Int.init) { configuration.replicas = replicas }
        configuration.deliveries.acknowledgementWait = .seconds(5)
        // Without retries that wait for long, so that the proof ends soon.
        let bridging = BridgeConfiguration(
            buffer: .init(messages: 1 << 19, bytes: 1 << 33),
            backoff: Backoff(limit: .seconds(setting("BACKOFF").flatMap(Int.init) ?? 1))
        )
        let bridge = Bridge(
            name,
            switchboard: board,
            transport: NATSTransport(configuration),
            routes: [route],
            configuration: bridging
        ) { letter in say("dead \(letter.error)") }
        return bridge
    }

    private static func board() -> Switchboard {
        Switchboard(onFault: { say("fault \($0)") })
    }

    /// Ends a task on SIGTERM.
    private static func cancelOnTermination(_ task: Task<Void, any Error>) -> any DispatchSourceSignal {
        signal(SIGTERM, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        source.setEventHandler { task.cancel() }
        source.resume()
        return source
    }

    private static func send(_ url: String, _ count: Int, _ size: Int, _ pause: Int) async throws {
        let board = board()
        let bridge = bridge(url, "sender", board, .outgoing(numbered, durable: true))
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        let padding = String(repeating: "x", count: size)
        let start = ContinuousClock.now
        for number in 0..<count {
            try await bridge.send(Numbered(number: number, padding: padding), to: numbered)
            if pause > 0 { try await Task.sleep(for: .milliseconds(pause)) }
        }
        running.cancel()
        try await running.value
        let seconds = start.duration(to: .now) / .seconds(1)
        say("sent \(bridge.statistics.sent) in \(seconds) s, \(Int(Double(count) / seconds)) a second")
        if bridge.statistics.sent != count { say("not sent: \(bridge.statistics)") }
    }

    private static func hear(_ url: String, _ name: String, _ pause: Int, _ bad: Int) async throws {
        let board = board()
        let bridge = bridge(url, name, board, .incoming(numbered, durable: true))
        let token = board[numbered].listen { message async throws in
            if message.number < bad { throw Bad() }
            if pause > 0 { try? await Task.sleep(for: .milliseconds(pause)) }
            say("heard \(message.number)")
        }
        let running = Task { try await bridge.run() }
        let source = cancelOnTermination(running)
        // Unless it has been ended by then.
        if (try? await bridge.waitUntilReady()) != nil { say("ready") }
        try? await running.value
        withExtendedLifetime((source, token)) {}
    }

    private static func state(_ url: String, _ name: String) async throws {
        let board = board()
        let bridge = bridge(url, name, board, .both(state: level, initial: 0))
        let state = board.state(level, initial: 0)
        let token = state.listen { say("value \($0)") }
        let events = bridge.events.listen { event in
            if case .lastValuesLost(nil) = event { say("lost") }
        }
        let statuses = bridge.status.listen { say("status \($0.phase)") }
        let running = Task { try await bridge.run() }
        let source = cancelOnTermination(running)
        // Lines are read on a thread of their own, which may block.
        Thread.detachNewThread {
            while let line = readLine() { if let number = Int(line) { state.set(number) } }
        }
        try? await running.value
        withExtendedLifetime((source, token, events, statuses)) {}
    }
}
