import ChannelsTesting
import Foundation
import NIOCore
import NIOPosix

/// A TCP connection that sends and receives plain text, so that a test can do what no polite client would do.
final class Connection: Sendable {
    /// What was received, in pieces, followed by "" at the end.
    let received = Recorder<String>()
    private let channel: any Channel

    init(_ port: Int) async throws {
        channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(ChannelOptions.socketOption(.so_rcvbuf), value: 16 * 1024)
            .channelInitializer { [received] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Receiver(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    deinit { channel.close(promise: nil) }

    var text: String { received.all.joined() }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Stops or resumes reading.
    func reads(_ reads: Bool) async throws { try await channel.setOption(ChannelOptions.autoRead, value: reads).get() }

    func close() { channel.close(promise: nil) }

    /// Returns everything received once it contains a text, or once the connection has ended.
    @discardableResult
    func wait(for part: String) async -> String {
        await wait { $0.contains(part) }
    }

    /// Returns everything received once it is enough, or once the connection has ended.
    @discardableResult
    func wait(until isEnough: @escaping @Sendable (String) -> Bool) async -> String {
        await received.wait { $0.last == "" || isEnough($0.joined()) }.joined()
    }

    /// Returns everything received once the other side has closed the connection.
    func waitForEnd() async -> String { await wait { _ in false } }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let received: Recorder<String>

        init(_ received: Recorder<String>) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // What a test sends and reads is ASCII, so no piece ends within a character.
            received.record(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { received.record("") }

        // Closing makes the channel inactive.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// The answer to a request.
struct Answer {
    let status: Int
    let head: String
    let body: String

    init(_ text: String) throws {
        guard let end = text.range(of: "\r\n\r\n"), let status = Int(text.dropFirst(9).prefix(3)) else {
            throw NoAnswer(text: text)
        }
        self.status = status
        head = String(text[..<end.lowerBound]).lowercased()
        body = String(text[end.upperBound...])
    }

    struct NoAnswer: Error { let text: String }
}

/// Makes a request on its own connection.
func request(
    _ port: Int,
    _ method: String,
    _ path: String,
    headers: [String] = [],
    body: String = ""
) async throws -> Answer {
    let connection = try await Connection(port)
    var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"] + headers
    if !headers.contains(where: { $0.hasPrefix("Host:") }) { lines.append("Host: 127.0.0.1:\(port)") }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    try await connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    return try Answer(await connection.waitForEnd())
}

func postSale(_ port: Int, _ json: String) async throws -> Answer {
    try await request(port, "POST", "/sales", headers: ["Content-Type: application/json"], body: json)
}

/// An open page.
struct Tab {
    let connection: Connection

    init(_ port: Int, last: String? = nil) async throws {
        connection = try await Connection(port)
        let header = last.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        try await connection.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(header)\r\n")
        await connection.wait(for: "\r\n\r\n")
    }

    var heard: Heard { Heard(connection.text) }

    /// Returns once a state with a number of sales has arrived, or the server has ended the stream.
    func wait(forSales sales: Int) async -> Heard {
        Heard(await connection.wait { Heard($0).states.last.map { $0.sales >= sales } ?? false })
    }
}

/// What a page has received.
struct Heard {
    struct State: Decodable {
        let version: Int
        let sales: Int
        let takings: Int
        let held: Int
        let mailed: Int
        var recent: [Recent]
    }

    struct Recent: Decodable {
        let number: Int
        let sale: Named
    }

    struct Named: Decodable {
        let id: String
        let name: String
    }

    private(set) var states: [State] = []
    private(set) var missed = 0
    /// The id of the last state.
    private(set) var id = ""

    init(_ text: String) {
        // Before each chunk there is a line with its length, and after it an empty line. Neither is a field.
        var kind = ""
        var lastID = ""
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("id: ") { lastID = String(line.dropFirst(4)) }
            if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
            guard line.hasPrefix("data: ") else { continue }
            if kind == "missed" { missed += Int(line.dropFirst(6)) ?? 0 }
            guard kind == "office" || kind == "change" else { continue }
            // A state that has not fully arrived is not valid JSON yet.
            if var state = try? JSONDecoder().decode(State.self, from: Data(line.dropFirst(6).utf8)) {
                if kind == "change" { state.recent = Array((state.recent + (states.last?.recent ?? [])).prefix(8)) }
                states.append(state)
                id = lastID
            }
        }
    }
}
