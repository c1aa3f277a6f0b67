import CPostgreSQL
import Channels
import ChannelsBridge
import ChannelsPostgreSQL
import Dispatch
import Foundation
import Synchronization

// A process that tests kill, and that measures:
//
//     pgworker publish CONNECTION PREFIX     posts without end, and prints the number of each message that was acknowledged
//     pgworker receive CONNECTION            writes each message into the table `results`, and settles it in that transaction
//     pgworker measure CONNECTION COUNT      messages per second from one bridge to another

extension ChannelName<String> {
    static let sold = ChannelName<String>("kill.sold")
}

/// The user's own connection, on its own queue, because a call of libpq waits for the server.
final class Database: Sendable {
    private let queue = DispatchQueue(label: "database")
    private let handle: Mutex<OpaquePointer>

    init(_ connection: String) {
        handle = Mutex(PQconnectdb(connection))
    }

    func transaction(_ sql: String, _ body: @escaping @Sendable (OpaquePointer) throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async {
                continuation.resume(
                    with: Result {
                        try self.handle.withLock { handle in
                            if PQstatus(handle) != CONNECTION_OK { PQreset(handle) }
                            for statement in ["BEGIN", sql] { try Self.run(statement, handle) }
                            do { try body(handle) } catch {
                                try Self.run("ROLLBACK", handle)
                                throw error
                            }
                            try Self.run("COMMIT", handle)
                        }
                    }
                )
            }
        }
    }

    private static func run(_ sql: String, _ handle: OpaquePointer) throws {
        let result = PQexec(handle, sql)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COMMAND_OK else {
            throw BridgeError(.transportFailure, detail: String(cString: PQerrorMessage(handle)))
        }
    }
}

func write(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = Foundation.write(1, bytes, bytes.count)
}

let (role, connection) = (CommandLine.arguments[1], CommandLine.arguments[2])
let transport = PostgreSQLTransport(PostgreSQLConfiguration(connection: connection))
let (database, board) = (Database(connection), Switchboard())

switch role {
case "publish":
    while true {
        do {
            try await transport.connect { _ in }
            break
        } catch let error as BridgeError where error.code.disposition == .wait {}
    }
    for number in 0... {
        let text = "\(CommandLine.arguments[3])-\(number)"
        do {
            if number.isMultiple(of: 2) {
                let message = try TransportMessage(posting: text, on: board[.sold])
                try await transport.publish(message, durable: true)
            } else {
                // The outbox: the message commits together with a row of ours.
                try await database.transaction("INSERT INTO sent VALUES ('\(text)')") {
                    try board[.sold].post(text, in: $0)
                }
            }
            write(text)
        } catch let error as BridgeError where error.code.disposition == .wait {}
    }
case "receive":
    let routes: [BridgeRoute] = [.incoming(.sold, durable: true)]
    let backoff = Backoff(first: .milliseconds(10), limit: .milliseconds(100))
    let configuration = BridgeConfiguration(failureLimit: 1_000_000, backoff: backoff)
    let bridge = Bridge(
        "reader",
        switchboard: board,
        transport: transport,
        routes: routes,
        configuration: configuration
    )
    let token = board[.sold].posts.listen { post in
        // The inbox: a row of ours commits together with the settlement.
        try await database.transaction("INSERT INTO results VALUES ('\(post.message)')") { try post.settle(in: $0) }
    }
    try await bridge.run()
    withExtendedLifetime(token) {}
default:
    let count = Int(CommandLine.arguments[3])!
    let (name, others) = ("measure\(UInt64.random(in: 0...999_999))", Switchboard())
    let channel = try ChannelName<String>(validating: "\(name).sold")
    let other = PostgreSQLTransport(PostgreSQLConfiguration(connection: connection))
    let sender = Bridge("sender", switchboard: board, transport: transport, routes: [.outgoing(channel, durable: true)])
    let receiver = Bridge(name, switchboard: others, transport: other, routes: [.incoming(channel, durable: true)])
    let done = AsyncStream<Void>.makeStream()
    let received = Atomic(0)
    let token = others[channel].listen { _ in
        if received.wrappingAdd(1, ordering: .relaxed).newValue == count { done.continuation.finish() }
    }
    let running = [sender, receiver].map { bridge in Task { try await bridge.run() } }
    while sender.status.value.phase != .running || receiver.status.value.phase != .running { await Task.yield() }
    let start = ContinuousClock.now
    for number in 0..<count {
        // Keeps fewer messages in flight than a bridge holds.
        while number - received.load(ordering: .relaxed) > 4_000 { await Task.yield() }
        board[channel].post("message \(number)")
    }
    for await _ in done.stream {}
    print("\(Int(Double(count) / ((.now - start) / .seconds(1)))) durable messages per second")
    for task in running { task.cancel() }
    for task in running { _ = await task.result }
    withExtendedLifetime(token) {}
}
