import CNATSDirect
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsSQLite
import Foundation

/// The C client, publishing to a stream without waiting for each acknowledgement.
struct ClientStreamCase: Case {
    let name: String
    let baseline: Int
    let share = 5
    private let context: Pointer
    private let headers: [(String, String)]
    private let body = [UInt8](repeating: UInt8(ascii: "x"), count: 100)

    struct Pointer: @unchecked Sendable {  // used by one task at a time
        let pointer: OpaquePointer
    }

    init(_ url: String, index: Int, headers: [(String, String)]) throws {
        name = "C client, asynchronous publish to a stream" + (headers.isEmpty ? "" : ", six headers")
        baseline = index
        self.headers = headers
        var connection: OpaquePointer?
        var context: OpaquePointer?
        var status = natsConnection_ConnectTo(&connection, url)
        if status == NATS_OK { status = natsConnection_JetStream(&context, connection, nil) }
        var configuration = jsStreamConfig()
        jsStreamConfig_Init(&configuration)
        let subject = strdup("bench.stream.>")
        defer { free(subject) }
        var subjects: [UnsafePointer<CChar>?] = [UnsafePointer(subject)]
        if status == NATS_OK {
            status = "STREAM".withCString { name in
                subjects.withUnsafeMutableBufferPointer { subjects in
                    configuration.Name = name
                    configuration.Subjects = subjects.baseAddress
                    configuration.SubjectsLen = 1
                    return js_AddStream(nil, context, &configuration, nil, nil)
                }
            }
        }
        guard status == NATS_OK, let context else { throw Refused(status: status.rawValue) }
        self.context = Pointer(pointer: context)
    }

    func send(_ count: Int) async throws {
        for _ in 0..<count {
            var status = NATS_OK
            if headers.isEmpty {
                status = js_PublishAsync(context.pointer, "bench.stream.client", body, Int32(body.count), nil)
            } else {
                var message: OpaquePointer?
                status = body.withUnsafeBytes {
                    natsMsg_Create(
                        &message,
                        "bench.stream.client",
                        nil,
                        $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                        Int32(body.count)
                    )
                }
                for (name, value) in headers where status == NATS_OK {
                    status = natsMsgHeader_Set(message, name, value)
                }
                if status == NATS_OK { status = js_PublishMsgAsync(context.pointer, &message, nil) }
                natsMsg_Destroy(message)
            }
            if status != NATS_OK { throw Refused(status: status.rawValue) }
        }
        let status = js_PublishAsyncComplete(context.pointer, nil)
        if status != NATS_OK { throw Refused(status: status.rawValue) }
    }

    func oneByOne(_ count: Int) async throws -> [Double] {
        try (0..<min(count, 200)).map { _ in
            let start = ContinuousClock.now
            let status = js_Publish(nil, context.pointer, "bench.stream.client", body, Int32(body.count), nil, nil)
            if status != NATS_OK { throw Refused(status: status.rawValue) }
            return start.duration(to: .now).inSeconds
        }
    }
}

/// Durable messages over bridges: from a post to the acknowledgement, or to a listener of another switchboard.
struct DurableBridgeCase: Case {
    let name: String
    let baseline: Int
    let share = 5
    private let hears: Bool
    private let sending = Switchboard()
    private let receiving = Switchboard()
    private let arrivals = Arrivals()
    private let token: ListenerToken
    private let channel: ChannelName<BridgeCase.Text>
    private static let text = BridgeCase.Text(text: String(repeating: "x", count: 89))

    /// - Parameter hears: Whether a bridge receives what the other one publishes.
    init(_ url: String, baseline: Int, hears: Bool) async throws {
        name =
            hears
            ? "durable post to listener over two bridges, JSON and headers"
            : "durable post to acknowledgement over a bridge, JSON and headers"
        self.baseline = baseline
        self.hears = hears
        channel = hears ? "bench.stream.heard" : "bench.stream.sent"
        token = receiving[channel].listen { [arrivals] _ in arrivals.arrived() }
        let ends: [(Switchboard, BridgeRoute)] = [
            (sending, .outgoing(channel, durable: true)), (receiving, .incoming(channel, durable: true)),
        ]
        for (board, route) in hears ? ends : Array(ends.prefix(1)) {
            var configuration = BridgeConfiguration()
            configuration.buffer = .init(messages: .max, bytes: .max)
            var server = NATSConfiguration(servers: [url])
            server.streams = [NATSStream("STREAM", subjects: ["bench.stream.>"])]
            let bridge = Bridge(
                "bench",
                switchboard: board,
                transport: NATSTransport(server),
                routes: [route],
                configuration: configuration
            )
            Task { try await bridge.run() }
            try await bridge.waitUntilReady()
        }
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count)
        for _ in 1..<count { sending[channel].post(Self.text) }
        // The last one of a route is acknowledged behind all others.
        let report = await sending[channel].postAndWait(Self.text)
        if let error = report.failures.first?.error { throw error }
        if hears { await arrivals.wait() }
    }

    func oneByOne(_ count: Int) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<min(count, 200) {
            let start = ContinuousClock.now
            try await send(1)
            times.append(start.duration(to: .now).inSeconds)
        }
        return times
    }
}

/// Messages stored in a file, forwarded by a relay, and settled by a listener to the stream.
struct RelayCase: Case {
    let name = "durable, stored in a file and forwarded by a relay"
    let baseline: Int
    let share = 10
    private let file: SQLiteTransport
    private let receiving: NATSTransport
    private let message: TransportMessage
    private let arrivals = Arrivals()

    /// - Parameter path: Where the file is created, which the relay and the sender open each for itself.
    init(_ url: String, baseline: Int, path: String) async throws {
        self.baseline = baseline
        message = try TransportMessage(subject: "bench.relay", body: [UInt8](repeating: UInt8(ascii: "x"), count: 100))
        var server = NATSConfiguration(servers: [url])
        server.streams = [NATSStream("RELAY", subjects: [message.subject])]
        (file, receiving) = (SQLiteTransport(path: path), NATSTransport(server))
        try await file.connect { _ in }
        try await receiving.connect { _ in }
        let pattern = try ChannelPattern(validating: message.subject)
        try await receiving.subscribe(to: pattern, durableName: "bench") { [arrivals] message in
            message.settle?(.acknowledged)
            arrivals.arrived()
        }
        let relay = Relay(from: SQLiteTransport(path: path), to: NATSTransport(server)) { error in
            fatalError("the relay reports \(error)")
        }
        Task { try await relay.run() }
        _ = await relay.status.first { $0.isReady }
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count)
        for _ in 0..<count {
            try await file.publishDurably(message, isRepeated: false) { error in
                if let error { fatalError("the file reports \(error)") }
            }
        }
        await arrivals.wait()
    }
}
