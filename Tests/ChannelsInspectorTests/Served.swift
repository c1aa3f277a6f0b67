#if Inspector
import Channels
import Foundation

@_exported public import TestSupport
@testable import ChannelsInspector

/// An inspector that runs.
struct Served: Sendable {
    let port: Int
    /// What it announced.
    let address: String

    /// Sends a request and returns the whole response.
    func response(
        _ line: String,
        host: String? = "127.0.0.1",
        _ fields: [String: String] = [:],
        body: String? = nil
    ) async throws -> Reply {
        let connection = try await Connection(to: port)
        try await connection.send(request(line, host: host, fields, body: body))
        return Reply(await connection.rest())
    }

    /// The bytes of a request that asks to close the connection.
    func request(
        _ line: String,
        host: String? = "127.0.0.1",
        _ fields: [String: String] = [:],
        body: String? = nil
    ) -> String {
        var text = "\(line) HTTP/1.1\r\nConnection: close\r\n"
        if let host { text += "Host: \(host):\(port)\r\n" }
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if let body, fields["Content-Length"] == nil { text += "Content-Length: \(body.utf8.count)\r\n" }
        return text + "\r\n" + (body ?? "")
    }

    /// Opens the stream of events and reads the first.
    func events() async throws -> Events {
        let connection = try await Connection(to: port)
        try await connection.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let head = await connection.text(upTo: "\r\n\r\n") ?? ""
        return Events(connection: connection, head: head)
    }
}

/// A response, read to its end.
struct Reply {
    let status: Int
    let head: String
    let body: String

    init(_ text: String) {
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        head = String(parts.first ?? "")
        body = parts.count > 1 ? String(parts[1]) : ""
        status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    func field(_ name: String) -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }
}

/// A stream of events.
struct Events {
    let connection: Connection
    let head: String

    struct Failed: Error {}

    /// The next picture, as parsed JSON.
    func next() async throws -> [String: Any] {
        guard await connection.text(upTo: "data: ") != nil, let line = await connection.text(upTo: "\n\n"),
            let picture = try JSONSerialization.jsonObject(with: Data(line.utf8.dropLast(2))) as? [String: Any]
        else { throw Failed() }
        return picture
    }

    /// Reads until a picture fulfils a condition.
    func first(where isWanted: ([String: Any]) -> Bool) async throws -> [String: Any] {
        while true {
            let picture = try await next()
            if isWanted(picture) { return picture }
        }
    }
}

extension ServerLimits {
    /// For tests of something else: on a machine that stands still for seconds, a visitor of theirs is slow, too.
    static let patient = {
        var limits = ServerLimits()
        limits.silence = .seconds(3_600)
        return limits
    }()
}

/// Runs an inspector for as long as a body takes.
func withInspector<Result: Sendable>(
    _ board: Switchboard = Switchboard(),
    host: String = "127.0.0.1",
    token: String? = nil,
    posting: [any (Decodable & Sendable).Type] = [],
    limits: ServerLimits = .patient,
    _ body: @Sendable @escaping (Served) async throws -> Result
) async throws -> Result {
    let (addresses, source) = AsyncStream.makeStream(of: String.self)
    var inspector = Inspector(board, host: host, port: 0, token: token, posting: posting) { source.yield($0) }
    inspector.limits = limits
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { [inspector] in
            defer { source.finish() }
            try await inspector.run()
            return nil
        }
        group.addTask {
            for await address in addresses {
                let port = URLComponents(string: address)?.port ?? 0
                return try await body(Served(port: port, address: address))
            }
            throw CancellationError()
        }
        while let result = try await group.next() {
            guard let result else { continue }
            group.cancelAll()
            return result
        }
        throw CancellationError()
    }
}
#endif
