#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

@_exported public import TestSupport

extension BridgeConfiguration {
    /// The defaults, on a loaded machine.
    static var patient: BridgeConfiguration {
        BridgeConfiguration(requestTimeout: .patience, closeTimeout: .patience)
    }
}

/// A connected transport, and the events it reported.
struct Peer: Sendable {
    let transport: NATSTransport
    let events: Recorder<TransportEvent>

    static func connect(
        to server: NATSServer,
        _ change: (inout NATSConfiguration) -> Void = { _ in },
        onEvent: @escaping @Sendable (TransportEvent) -> Void = { _ in }
    ) async throws -> Peer {
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.reconnectWait = .milliseconds(20)
        change(&configuration)
        let events = Recorder<TransportEvent>()
        let transport = NATSTransport(configuration)
        try await transport.connect { event in
            events.record(event)
            onEvent(event)
        }
        return Peer(transport: transport, events: events)
    }

    func subscribe(to pattern: ChannelPattern, durableName: String? = nil) async throws -> Recorder<InboundMessage> {
        let record = Recorder<InboundMessage>()
        try await transport.subscribe(to: pattern, durableName: durableName) { record.record($0) }
        return record
    }

    func publish(_ text: String, to subject: String, id: String? = nil, durable: Bool = false) async throws {
        try await transport.publish(try message(text, to: subject, id: id), durable: durable)
    }

    /// Keeps the letter of a message for `kitchen`.
    func keepLetter(_ text: String, of subject: String, id: String? = nil) async throws {
        let letter = DeadLetter(
            message: try message(text, to: subject, id: id),
            error: BridgeError(.tooManyFailures, subject: subject)
        )
        try await transport.keep(letter, on: "dead.\(subject)", for: "kitchen")
    }

    /// Calls JetStream, and returns what it answers.
    func askJetStream(_ name: String) async throws -> [String: Any] {
        let reply = try await transport.request(
            try TransportMessage(subject: "$JS.API.\(name)", body: []),
            timeout: .patience
        )
        return try #require(try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any])
    }

    func close() async throws {
        try await transport.close(timeout: .patience)
    }
}

func message(_ text: String, to subject: String, id: String? = nil) throws -> TransportMessage {
    var headers = TransportHeaders()
    if let id { try headers.set(id, for: TransportHeaders.id) }
    return try TransportMessage(subject: subject, headers: headers, body: Array(text.utf8))
}

extension InboundMessage {
    var text: String { String(decoding: message.body, as: UTF8.self) }
}

extension TransportEvent {
    var isDisconnected: Bool { if case .disconnected = self { true } else { false } }
    var isReconnected: Bool { if case .reconnected = self { true } else { false } }
    var isClosed: Bool { if case .closed = self { true } else { false } }

    var failure: BridgeError? { if case .failed(let error) = self { error } else { nil } }
}
#endif
