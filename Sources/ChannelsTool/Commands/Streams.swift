#if NATS || SQLite
import ArgumentParser
import ChannelsBridge
import Foundation

#if SQLite
import ChannelsSQLite
#endif

struct Streams: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the streams that store messages, or the durable names of one.",
        discussion: """
            EXAMPLES
              channels streams
              channels streams SHOP
              channels streams --json | jq .state.messages
              channels streams messages --file sales.sqlite

            PROCESSES counts those that currently request messages of the name; the
            server does not say which, and a process without room does not request.
            --json prints the server's own description of each.

            A file has one stream, 'messages', and PROCESSES are those that run and use
            the name.
            """
    )

    @Argument(help: "The name of a stream, to list its durable names.")
    var stream: String?

    @Flag(help: "Print a JSON object for each.")
    var json = false

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func run() async {
        await reportingFailures {
            if let stream, try validName(stream).contains(".") { throw Failure("\(stream) is not a name of a stream") }
            let transport = try await connection.connect()
            #if SQLite
            if let file = transport as? SQLiteTransport {
                try show(try await file.contents())
                return try await file.close(within: .seconds(5))
            }
            #endif
            if let stream {
                try await list(transport, "CONSUMER.LIST.\(stream)", "consumers", Consumer.columns, Consumer.row)
            } else {
                try await list(transport, "STREAM.LIST", "streams", Stream.columns, Stream.row)
            }
            try await transport.close(within: .seconds(5))
        }
    }

    #if SQLite
    private func show(_ contents: SQLiteTransport.Contents) throws {
        let name = "messages"
        guard stream == nil || stream == name else {
            throw Failure("a file has one stream, '\(name)', and no \(stream ?? "")")
        }
        if stream == nil {
            let stream = Stream(
                config: .init(name: name, subjects: [">"], retention: "limits", numReplicas: 1),
                state: .init(
                    messages: contents.messages,
                    bytes: contents.bytes,
                    consumerCount: contents.names.count,
                    lastTs: contents.last?.text
                )
            )
            try show([stream], Stream.columns, Stream.row)
        } else {
            let names = contents.names.map { name in
                Consumer(
                    name: name.name,
                    config: .init(filterSubject: name.pattern),
                    numPending: name.waiting,
                    numAckPending: name.unsettled,
                    numRedelivered: name.redelivered,
                    numWaiting: name.holders
                )
            }
            try show(names, Consumer.columns, Consumer.row)
        }
    }

    private func show<Entry: Encodable>(_ entries: [Entry], _ columns: [String], _ row: (Entry) -> [String]) throws {
        guard json else { return StandardStreams.show(Self.table([columns] + entries.map(row))) }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        for entry in entries { StandardStreams.show(String(decoding: try encoder.encode(entry), as: UTF8.self)) }
    }
    #endif

    /// Asks for a list, which comes in pages, and prints it.
    private func list<Entry: Decodable>(
        _ transport: any Transport,
        _ call: String,
        _ key: String,
        _ columns: [String],
        _ row: (Entry) -> [String]
    ) async throws {
        var rows = [columns]
        var page: Page
        var offset = 0
        repeat {
            let answer = try await ask(transport, call, offset: offset)
            guard let text = JSONText(answer) else { throw Failure("the server's answer cannot be read") }
            page = try Self.decode(Page.self, answer)
            if let error = page.error {
                if error.code == 404, let stream {
                    throw Failure("the server has no stream \(stream); 'channels streams' lists all")
                }
                throw Failure(error.description ?? "error \(error.code ?? 0)")
            }
            for entry in text[key].flatMap({ JSONText(Array($0)) })?.elements.compactMap({ JSONText(Array($0)) }) ?? []
            {
                offset += 1
                if json {
                    StandardStreams.show(entry.line)
                } else {
                    rows.append(row(try Self.decode(Entry.self, entry.bytes)))
                }
            }
        } while offset < page.total ?? 0 && page.limit ?? 0 > 0 && offset % (page.limit ?? 1) == 0
        if !json { StandardStreams.show(Self.table(rows)) }
    }

    private func ask(_ transport: any Transport, _ call: String, offset: Int) async throws -> [UInt8] {
        let question = try TransportMessage(subject: "$JS.API.\(call)", body: Array("{\"offset\":\(offset)}".utf8))
        do {
            return try await transport.request(question, timeout: .seconds(5)).body
        } catch let error as BridgeError where error.code == .noResponder {
            throw Failure("JetStream is not enabled at the server, so there are no streams")
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do { return try decoder.decode(type, from: Data(bytes)) } catch {
            throw Failure("the server's answer cannot be read: \(error)")
        }
    }

    /// Columns as wide as their widest text.
    private static func table(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(\.escaped) }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return cells.joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }.joined(separator: "\n")
    }

    private struct Page: Decodable {
        struct Problem: Decodable {
            var code: Int?
            var description: String?
        }
        var total: Int?
        var limit: Int?
        var error: Problem?
    }

    private struct Stream: Codable {
        struct Configuration: Codable {
            var name: String
            var subjects: [String]?
            var retention: String?
            var numReplicas: Int?
        }
        struct State: Codable {
            var messages: Int
            var bytes: Int
            var consumerCount: Int?
            var lastTs: String?
        }
        var config: Configuration
        var state: State

        static let columns = ["STREAM", "SUBJECTS", "MESSAGES", "BYTES", "NAMES", "RETENTION", "REPLICAS", "LAST"]

        static func row(_ stream: Stream) -> [String] {
            let (config, state) = (stream.config, stream.state)
            return [
                config.name, config.subjects?.joined(separator: ",") ?? "-", "\(state.messages)", "\(state.bytes)",
                "\(state.consumerCount ?? 0)", config.retention ?? "-", "\(config.numReplicas ?? 1)",
                state.messages > 0 ? state.lastTs.map { String($0.prefix(19)) + "Z" } ?? "-" : "-",
            ]
        }
    }

    private struct Consumer: Codable {
        struct Configuration: Codable { var filterSubject: String? }
        var name: String
        var config: Configuration
        var numPending: Int?
        var numAckPending: Int?
        var numRedelivered: Int?
        /// Each process asks once at a time.
        var numWaiting: Int?

        static let columns = ["NAME", "SUBJECT", "WAITING", "UNSETTLED", "REDELIVERED", "PROCESSES"]

        static func row(_ consumer: Consumer) -> [String] {
            [
                consumer.name, consumer.config.filterSubject ?? ">", "\(consumer.numPending ?? 0)",
                "\(consumer.numAckPending ?? 0)", "\(consumer.numRedelivered ?? 0)",
                "\(consumer.numWaiting ?? 0)",
            ]
        }
    }
}
#endif
