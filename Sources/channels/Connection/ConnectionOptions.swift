#if NATS
import ArgumentParser
import Channels
import ChannelsBridge
import ChannelsNATS
import Foundation
import Synchronization

/// Which server to talk to, and as whom.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: "The server, as nats://host:port or tls://host:port. (default: $NATS_URL, then nats://127.0.0.1:4222)"
    )
    var server: String?

    @Option(help: "The user.")
    var user: String?

    @Option(
        help: "The password of the user. On a machine that others use, better in the server's address in $NATS_URL."
    )
    var password: String?

    @Option(help: ArgumentHelp("The credentials file of the user.", valueName: "file"))
    var credentials: String?

    @Option(help: ArgumentHelp("The certificates that may sign the server's, in PEM.", valueName: "file"))
    var ca: String?

    /// - Throws: A failure of one line.
    func connect() async throws -> NATSTransport {
        let address =
            server ?? ProcessInfo.processInfo.environment["NATS_URL"].flatMap { $0.isEmpty ? nil : $0 }
            ?? "nats://127.0.0.1:4222"
        var configuration = NATSConfiguration(servers: [address], name: "channels")
        if let credentials {
            configuration.authentication = .credentials(file: credentials)
        } else if let user {
            configuration.authentication = .password(user: user, password: password ?? "")
        }
        if let ca { configuration.tls = .init(trustedCertificates: ca) }
        // It looks at what others have set up, and sets up nothing.
        configuration.createsStreams = false
        let transport = NATSTransport(configuration)
        try await transport.connect { event in
            switch event {
            case .failed(let error):
                failures.add()
                report("\(error)")
            case .disconnected: report("the connection is lost; trying to restore it")
            case .reconnected: report("the connection is back; messages may have been missed")
            case .lastValuesLost: report("the server has lost the states")
            case .slowConsumer(_, let dropped): report("\(dropped) messages came too fast and are missing")
            case .closed(let reason):
                report("the connection has ended: \(reason.map { "\($0)" } ?? "no reason is given")")
                Foundation.exit(1)
            case .connected: break
            }
        }
        return transport
    }
}

/// Whether something failed without anybody waiting for it.
let failures = Failures()

final class Failures: Sendable {
    private let count = Atomic(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func add() {
        count.add(1, ordering: .releasing)
    }
}

/// What went wrong, in one line.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }
}

/// A name that channels may have.
func validName(_ text: String) throws -> String {
    do { return try ChannelName<Never>(validating: text).text } catch { throw Failure("\(error)") }
}

/// The bytes of a JSON text.
func validJSON(_ text: String) throws -> [UInt8] {
    do {
        _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        return Array(text.utf8)
    } catch {
        throw Failure("not JSON: \(singleLine(String(text.prefix(60))))")
    }
}

/// A message of this tool, with the envelope that bridges use.
func enveloped(_ name: String, _ json: [UInt8]) throws -> TransportMessage {
    let headers = EventEnvelope(id: UUID().uuidString, source: "channels", contentType: "application/json").headers
    return try TransportMessage(subject: name, headers: headers, body: json)
}

/// A message as one line: what is JSON has line breaks only between its parts; what is not becomes a JSON
/// string.
func line(_ body: [UInt8]) -> String {
    let isJSON = (try? JSONSerialization.jsonObject(with: Data(body), options: .fragmentsAllowed)) != nil
    guard !isJSON else { return singleLine(String(decoding: body, as: UTF8.self)) }
    let quoted = try? JSONEncoder().encode(String(decoding: body, as: UTF8.self))
    return quoted.map { String(decoding: $0, as: UTF8.self) } ?? "null"
}

func singleLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
}

/// Prints a line on standard output, at once, so that it goes through a pipe.
func show(_ line: String) {
    print(line)
    fflush(nil)
}

/// Prints a line on standard error.
func report(_ text: String) {
    FileHandle.standardError.write(Data("channels: \(singleLine(text))\n".utf8))
}

/// Runs a command; what it throws is one line, and the exit status 1.
func reportingFailures(_ body: () async throws -> Void) async {
    do {
        try await body()
    } catch {
        report("\(error)")
        Foundation.exit(1)
    }
}
#endif
