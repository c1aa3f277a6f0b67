#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// What other clients send that a bridge would not: nothing of it loses a body.
@Suite(.fewServers, .hangLimit)
struct ForeignHeaderTests {
    private static let streams = [NATSStream("SHOP", subjects: ["shop.>"]), NATSStream("DEAD", subjects: ["dead.>"])]

    @Test func headersThatABridgeWouldNotSendLoseNoBody() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = Self.streams }
        let durable = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        let plain = try await peer.subscribe(to: "shop.>")
        let all: [(headers: String, expected: [String: String])] = [
            ("x-note: a\tb\r\n", ["x-note": "a%09b"]),
            ("x-note:   spaced  \r\n", ["x-note": "spaced"]),
            ("x-note:  \u{301}\r\n", ["x-note": "\u{301}"]),
            ("x note: 1\r\nx-other: 2\r\n", ["x-other": "2"]),
            ("tracestate: \r\nce-id: 5\r\nx-other: 2\r\n", ["ce-id": "5", "x-other": "2"]),
            // The C client can read none of them then.
            ("ce-id: 5\r\ntracestate: \r\n", [:]),
        ]
        for (number, one) in all.enumerated() {
            try publishRaw(headers: one.headers, "\(number)", to: "shop.sale", of: server)
        }
        for record in [durable, plain] {
            let messages = await record.wait(count: all.count)
            #expect(messages.map(\.text) == all.indices.map(String.init))
            for (message, one) in zip(messages, all) {
                let found = Dictionary(uniqueKeysWithValues: message.message.headers.map { ($0.name, $0.value) })
                #expect(found == one.expected, "\(one.headers)")
            }
        }
        let failures = await peer.events.wait { $0.compactMap(\.failure).count == 4 }.compactMap(\.failure)
        #expect(failures.allSatisfy { $0.code == .invalidHeader && $0.subject == "shop.sale" })
        #expect(failures.contains { $0.detail?.hasPrefix("message 6 of its stream: its headers are left out") == true })
        try await peer.close()
    }

    @Test func aHeaderThatIsNotUTF8IsEscaped() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = Self.streams }
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        let head = Array("NATS/1.0\r\nx-note: caf".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        let line = Array("HPUB shop.sale \(head.count) \(head.count + 1)\r\n".utf8)
        try sendRaw(bytes: line + head + Array("4\r\n".utf8), to: server)
        let message = await received.wait(count: 1)[0]
        #expect(message.text == "4" && message.message.headers["x-note"] == "caf%E9")
        #expect(peer.events.all.compactMap(\.failure).isEmpty)
        try await peer.close()
    }

    /// Its subject holds a space that is not ASCII, or is too long for a name.
    @Test(arguments: ["shop.a\u{A0}b", "shop." + String(repeating: "x", count: 1_100)])
    func aDurableMessageWhoseSubjectIsNoNameBecomesALetter(_ subject: String) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = Self.streams }
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.streams = Self.streams
        let faults = Recorder<Fault>()
        let bridge = Bridge(
            "kitchen",
            switchboard: Switchboard(onFault: { faults.record($0) }),
            transport: NATSTransport(configuration),
            routes: [.incoming(matching: "shop.*", of: Int.self, durable: true)],
            configuration: .patient
        )
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        try sendRaw("PUB \(subject) 1\r\n7\r\n", to: server)
        let letters = try await peer.subscribe(to: "dead.>", durableName: "reader")
        let letter = await letters.wait(count: 1)[0]
        #expect(letter.message.subject == "dead.shop.unreadable" && letter.text == "7")
        #expect(letter.message.headers["dead-letter-reason"]?.contains("message%201%20of%20its%20stream") == true)
        #expect(await faults.wait(count: 1).count == 1)
        // The fault comes before the message is counted as done.
        await wait(for: bridge.statistics.refused) { $0 == 1 }
        running.cancel()
        try await running.value
        try await peer.close()
    }
}
#endif
