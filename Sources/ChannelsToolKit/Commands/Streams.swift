#if Tool
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

            DEAD counts the dead letters that were not put back. FILE, LOG and COMMIT are
            the sizes of a file and of its write-ahead log, and the time since its last
            commit. OLDEST is the age of the oldest message that a name has not settled,
            and HELD BY says which processes use the name, and for how long.

            PROCESSES counts those that currently request messages of the name; a server
            does not say which, and a process without room does not request. A server
            shows OLDEST to users who may read its streams. --json prints the server's
            own description of each.

            A file has only one stream, 'messages'. Its PROCESSES are those that run and
            use the name. '-' stands for what is not known.
            """
    )

    @Argument(help: "The name of a stream, to list its durable names.")
    var stream: String?

    @Flag(help: "Print a JSON object for each.")
    var json = false

    @Option(name: .customLong("dead-letters"), help: "The name of the dead letters.")
    var deadLetters = "dead"

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func run() async {
        await reportingFailures {
            let deadLetters = try validName(deadLetters)
            if let stream, try validName(stream).contains(".") {
                throw Failure("'\(stream)' is not a stream name: it contains a dot")
            }
            let transport = try await connection.connect()
            guard transport.isServer else {
                let status = try await transport.storeStatus(deadLetters: deadLetters)
                try show(status, try await Self.kept(by: transport))
                return try await transport.close(timeout: .seconds(5))
            }
            // Throws early if there are no streams.
            _ = try await ask(transport, stream.map { "CONSUMER.LIST.\($0)" } ?? "STREAM.LIST", offset: 0)
            // A user who lacks some permissions still sees the rest.
            let status = json ? [] : (try? await transport.storeStatus(deadLetters: deadLetters)) ?? []
            if let stream {
                let names = status.first { $0.name == stream }?.names ?? []
                try await list(transport, "CONSUMER.LIST.\(stream)", "consumers", Consumer.columns) {
                    (consumer: Consumer) in
                    consumer.row(names.first { $0.name == consumer.name })
                }
            } else {
                try await list(transport, "STREAM.LIST", "streams", Stream.columns) { (stream: Stream) in
                    stream.row(status.first { $0.name == stream.config.name })
                }
            }
            try await transport.close(timeout: .seconds(5))
        }
    }

    /// How much a file keeps; nil for other transports, which do not tell.
    private static func kept(by transport: any Transport) async throws -> Stream.State? {
        #if SQLite
        if let file = transport as? SQLiteTransport {
            let totals = try await file.totals()
            return Stream.State(messages: totals.messages, bytes: totals.bytes, lastTs: totals.last?.text)
        }
        #endif
        return nil
    }

    private func show(_ all: [StoreStatus], _ kept: Stream.State?) throws {
        if let stream {
            guard let status = all.first(where: { $0.name == stream }) else {
                let names = all.map { "'\($0.name)'" }.joined(separator: ", ")
                throw Failure("there is no stream '\(stream)', only \(names)")
            }
            let names = status.names.map { name in
                Consumer(
                    name: name.name,
                    config: .init(filterSubject: name.pattern),
                    numPending: name.waiting,
                    numAckPending: name.unsettled,
                    numRedelivered: name.redelivered,
                    numWaiting: name.processes,
                    oldestSeconds: name.oldestAge.map { $0 / .seconds(1) },
                    holders: name.holders?.map { .init(process: $0.process, seconds: $0.age / .seconds(1)) }
                )
            }
            try show(names, Consumer.columns, zip(names, status.names).map { $0.row($1) })
        } else {
            let streams = all.map { status in
                Stream(
                    config: .init(
                        name: status.name,
                        subjects: kept.map { _ in [">"] },
                        retention: kept.map { _ in "limits" },
                        numReplicas: kept.map { _ in 1 }
                    ),
                    state: kept.map {
                        .init(
                            messages: $0.messages,
                            bytes: $0.bytes,
                            consumerCount: status.names.count,
                            lastTs: $0.lastTs
                        )
                    },
                    deadLetters: status.deadLetters,
                    fileBytes: status.fileBytes,
                    logBytes: status.logBytes,
                    commitSeconds: status.commitAge.map { $0 / .seconds(1) }
                )
            }
            try show(streams, Stream.columns, zip(streams, all).map { $0.row($1) })
        }
    }

    private func show<Entry: Encodable>(_ entries: [Entry], _ columns: [String], _ rows: [[String]]) throws {
        guard json else { return StandardStreams.show(Table.text([columns] + rows)) }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        for entry in entries { StandardStreams.show(String(decoding: try encoder.encode(entry), as: UTF8.self)) }
    }

    /// Requests a list, which arrives in pages, and prints it.
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
            guard let text = JSONText(answer) else {
                throw Failure("the server's answer to $JS.API.\(call) cannot be read")
            }
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
        if !json { StandardStreams.show(Table.text(rows)) }
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
        do {
            try checkNesting(of: bytes)
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            throw Failure("the server's answer cannot be read as \(type): \(error)")
        }
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
        /// Nil if the transport does not report it.
        var state: State?
        // Only for a file.
        var deadLetters: Int?
        var fileBytes: Int?
        var logBytes: Int?
        var commitSeconds: Double?

        static let columns = [
            "STREAM", "SUBJECTS", "MESSAGES", "BYTES", "NAMES", "RETENTION", "REPLICAS", "LAST", "DEAD", "FILE", "LOG",
            "COMMIT",
        ]

        func row(_ status: StoreStatus?) -> [String] {
            [
                config.name, config.subjects?.joined(separator: ",") ?? "-",
                state.map { "\($0.messages)" } ?? "-", state.map { "\($0.bytes)" } ?? "-",
                "\(state?.consumerCount ?? status?.names.count ?? 0)", config.retention ?? "-",
                config.numReplicas.map { "\($0)" } ?? "-",
                state.flatMap { $0.messages > 0 ? $0.lastTs : nil }.map { String($0.prefix(19)) + "Z" } ?? "-",
                status?.deadLetters.map { "\($0)" } ?? "-", status?.fileBytes.map { "\($0)" } ?? "-",
                status?.logBytes.map { "\($0)" } ?? "-", Table.age(status?.fileBytes == nil ? nil : status?.commitAge),
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
        /// The number of processes, because each has one request at a time.
        var numWaiting: Int?
        // Only for a file.
        var oldestSeconds: Double?
        var holders: [Holder]?

        struct Holder: Codable {
            var process: String
            var seconds: Double
        }

        static let columns = [
            "NAME", "SUBJECT", "WAITING", "UNSETTLED", "REDELIVERED", "PROCESSES", "OLDEST", "HELD BY",
        ]

        func row(_ status: StoreStatus.DurableName?) -> [String] {
            let holders = status?.holders?.map { "\($0.process) \(Table.age($0.age))" }.joined(separator: ", ") ?? ""
            return [
                name, config.filterSubject ?? ">", "\(numPending ?? 0)", "\(numAckPending ?? 0)",
                "\(numRedelivered ?? 0)", "\(numWaiting ?? 0)", Table.age(status?.oldestAge),
                holders.isEmpty ? "-" : holders,
            ]
        }
    }
}
#endif
