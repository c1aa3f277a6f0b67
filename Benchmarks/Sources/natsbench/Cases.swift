import CNATSDirect
import Channels
import ChannelsBridge
import ChannelsNATS
import Foundation

private let body = [UInt8](repeating: UInt8(ascii: "x"), count: 100)

struct Refused: Error {
    let status: UInt32
}

/// The C client, called as its examples call it.
struct ClientCase: Case {
    let name: String
    let baseline: Int
    let share = 1
    private let connection: Pointer
    private let headers: [(String, String)]
    private let arrivals = Arrivals()
    private let subject: String

    struct Pointer: @unchecked Sendable {  // the functions of a connection may be called from any thread
        let pointer: OpaquePointer
    }

    init(_ url: String, headers: [(String, String)]) throws {
        name = headers.isEmpty ? "C client" : "C client, six headers"
        baseline = headers.isEmpty ? 0 : 2
        subject = "bench.client.\(headers.count)"
        self.headers = headers
        connection = try Self.connect(url)
        let receiving = try Self.connect(url)
        var subscription: OpaquePointer?
        // Kept for ever: the process measures and ends.
        let closure = Unmanaged.passRetained(arrivals).toOpaque()
        try Self.check(
            natsConnection_Subscribe(
                &subscription,
                receiving.pointer,
                subject,
                { _, _, message, closure in
                    natsMsg_Destroy(message)
                    // Retained above, and never released.
                    Unmanaged<Arrivals>.fromOpaque(closure!).takeUnretainedValue().arrived()
                },
                closure
            )
        )
        try Self.check(natsSubscription_SetPendingLimits(subscription, -1, -1))
        try Self.check(natsConnection_Flush(receiving.pointer))
    }

    private static func connect(_ url: String) throws -> Pointer {
        var pointer: OpaquePointer?
        try check(natsConnection_ConnectTo(&pointer, url))
        guard let pointer else { throw Refused(status: 0) }
        return Pointer(pointer: pointer)
    }

    private static func check(_ status: natsStatus) throws {
        if status != NATS_OK { throw Refused(status: status.rawValue) }
    }

    private func publish() throws {
        guard !headers.isEmpty else {
            return try Self.check(natsConnection_Publish(connection.pointer, subject, body, Int32(body.count)))
        }
        var message: OpaquePointer?
        try body.withUnsafeBytes {
            try Self.check(
                natsMsg_Create(
                    &message,
                    subject,
                    nil,
                    $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(body.count)
                )
            )
        }
        defer { natsMsg_Destroy(message) }
        for (name, value) in headers { try Self.check(natsMsgHeader_Set(message, name, value)) }
        try Self.check(natsConnection_PublishMsg(connection.pointer, message))
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count)
        for _ in 0..<count { try publish() }
        await arrivals.wait()
    }
}

private func connected(_ url: String, _ change: (inout NATSConfiguration) -> Void = { _ in }) async throws
    -> NATSTransport
{
    var configuration = NATSConfiguration(servers: [url])
    change(&configuration)
    let transport = NATSTransport(configuration)
    try await transport.connect { event in
        if case .slowConsumer(_, let dropped) = event { fatalError("\(dropped) messages were dropped") }
    }
    return transport
}

/// The transport, as a bridge calls it.
struct TransportCase: Case {
    let name: String
    let baseline: Int
    let share = 1
    private let transport: NATSTransport
    private let receiving: NATSTransport
    private let message: TransportMessage
    private let arrivals = Arrivals()

    init(_ url: String, headers: [(String, String)]) async throws {
        name = headers.isEmpty ? "NATSTransport" : "NATSTransport, six headers"
        baseline = headers.isEmpty ? 0 : 2
        var fields = TransportHeaders()
        for (name, value) in headers { try fields.set(value, for: name) }
        message = try TransportMessage(subject: "bench.transport.\(headers.count)", headers: fields, body: body)
        transport = try await connected(url)
        receiving = try await connected(url)
        let pattern = try ChannelPattern(validating: message.subject)
        try await receiving.subscribe(to: pattern, durableName: nil) { [arrivals] _ in arrivals.arrived() }
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count)
        for _ in 0..<count { try await transport.publish(message, durable: false) }
        await arrivals.wait()
    }
}

/// From a post on one switchboard to a listener on another.
struct BridgeCase: Case {
    struct Text: Codable, Sendable {
        var text: String
    }

    let name = "post to listener over two bridges, JSON and headers"
    let baseline = 0
    let share = 10
    private let sending = Switchboard()
    private let receiving = Switchboard()
    private let arrivals = Arrivals()
    private let token: ListenerToken
    private static let text = Text(text: String(repeating: "x", count: 89))

    init(_ url: String) async throws {
        token = receiving[.bench].listen { [arrivals] _ in arrivals.arrived() }
        for (board, routes) in [(sending, [BridgeRoute.outgoing(.bench)]), (receiving, [.incoming(.bench)])] {
            var configuration = BridgeConfiguration()
            configuration.buffer = .init(messages: .max, bytes: .max)
            let bridge = Bridge(
                "bench",
                switchboard: board,
                transport: NATSTransport(NATSConfiguration(servers: [url])),
                routes: routes,
                configuration: configuration
            )
            Task { try await bridge.run() }
            _ = await bridge.status.first { $0.isReady }
        }
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count)
        for _ in 0..<count { sending[.bench].post(Self.text) }
        await arrivals.wait()
    }
}

extension ChannelName<BridgeCase.Text> {
    fileprivate static var bench: Self { "bench.bridge" }
}

/// Stored and acknowledged, delivered and settled.
struct DurableCase: Case {
    let name: String
    let baseline = 0
    let share = 50
    private let concurrency: Int
    private let transport: NATSTransport
    private let receiving: NATSTransport
    private let message: TransportMessage
    private let arrivals = Arrivals()

    init(_ url: String, concurrency: Int) async throws {
        name = concurrency == 1 ? "durable, each acknowledged before the next" : "durable, \(concurrency) at a time"
        self.concurrency = concurrency
        message = try TransportMessage(subject: "bench.durable.\(concurrency)", body: body)
        let stream = NATSStream("BENCH", subjects: ["bench.durable.>"])
        transport = try await connected(url) { $0.streams = [stream] }
        receiving = try await connected(url) { $0.streams = [stream] }
        let pattern = try ChannelPattern(validating: message.subject)
        try await receiving.subscribe(to: pattern, durableName: "bench") { [arrivals] message in
            message.settle?(.acknowledged)
            arrivals.arrived()
        }
    }

    func send(_ count: Int) async throws {
        arrivals.expect(count / concurrency * concurrency)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    for _ in 0..<count / concurrency { try await transport.publish(message, durable: true) }
                }
            }
            try await group.waitForAll()
        }
        await arrivals.wait()
    }

    func oneByOne(_ count: Int) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<min(count, 200) {
            arrivals.expect(1)
            let start = ContinuousClock.now
            try await transport.publish(message, durable: true)
            await arrivals.wait()
            times.append(start.duration(to: .now).inSeconds)
        }
        return times
    }
}
