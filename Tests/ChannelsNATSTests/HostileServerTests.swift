#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// A server that does not keep to the protocol. What it sends may end the connection, but not the process.
///
/// Not here, because the C client itself (3.4.1) does not survive it: a `MSG` or `HMSG` line with a size
/// close to 2147483647.
@Suite(.fewServers, .hangLimit)
struct HostileServerTests {
    static let greetings: [String] = [
        "", "\r\n", "HELLO\r\n", "INFO\r\n", "INFO {\r\n", "INFO {\"max_payload\":\"many\"}\r\n",
        "INFO {\"max_payload\":-1}\r\n", "-ERR 'no'\r\n",
        "INFO {\"server_id\":\"\(String(repeating: "x", count: 100_000))\"}\r\n", "\u{0}\u{1}\u{2}\r\n", "INFO []\r\n",
        "MSG a 1 1\r\nx\r\n",
    ]

    @Test(arguments: greetings)
    func greetingThatIsOddMakesConnectingFailAtMost(_ greeting: String) async throws {
        let server = try HostileServer(greeting: greeting, afterPing: "")
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.connectTimeout = .milliseconds(300)
        let transport = NATSTransport(configuration)
        // The C client takes some of them for a server with nothing to say.
        do { try await transport.connect { _ in } } catch { #expect(error is BridgeError) }
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    /// The C client leaves out one signature in 256: only the third refusal in a row is believed.
    @Test(arguments: [2, 3]) func signedConnectionThatIsRefusedIsTriedThreeTimes(refusals: Int) async throws {
        let greeting = HostileServer.soundGreeting.replacing(
            "}",
            with: ",\"auth_required\":true,\"nonce\":\"PXoWU7zWAMt75FY\"}"
        )
        let server = try HostileServer(greeting: greeting, refusing: refusals)
        let seed = FileManager.default.temporaryDirectory.appending(path: "seed-\(UUID())")
        defer { try? FileManager.default.removeItem(at: seed) }
        try "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY".write(
            to: seed,
            atomically: true,
            encoding: .utf8
        )
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.authentication = .nkey(
            publicKey: "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
            seedFile: seed.path
        )
        let transport = NATSTransport(configuration)
        var refusal: BridgeError.Code?
        do { try await transport.connect { _ in } } catch { refusal = (error as? BridgeError)?.code }
        #expect(refusal == (refusals == 3 ? .authenticationFailed : nil))
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    @Test func passwordThatIsRefusedIsNotTriedAgain() async throws {
        let server = try HostileServer(greeting: HostileServer.soundGreeting, refusing: 1)
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.authentication = .password(user: "till", password: "wrong")
        let transport = NATSTransport(configuration)
        await #expect { try await transport.connect { _ in } } throws: {
            ($0 as? BridgeError)?.code == .authenticationFailed
        }
        server.close()
    }

    /// It would not be known whether the server has made the subscription, or will refuse it.
    @Test func aSubscriptionThatTheServerDoesNotConfirmFails() async throws {
        let server = try HostileServer(greeting: HostileServer.soundGreeting, deafTo: "a")
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.requestTimeout = .milliseconds(200)
        let transport = NATSTransport(configuration)
        try await transport.connect { _ in }
        await #expect {
            try await transport.subscribe(to: "a", durableName: nil) { _ in }
        } throws: {
            ($0 as? BridgeError)?.code == .timedOut && ($0 as? BridgeError)?.subject == "a"
        }
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    /// What is published once it is told of must not be missed.
    @Test func aNewConnectionIsToldOfOnceTheServerHasItsSubscriptions() async throws {
        let reconnections = Tally()
        let counts = Recorder<Int>()
        let server = try HostileServer(
            greeting: HostileServer.soundGreeting,
            onSubscription: { subject in
                guard subject == "a" else { return }
                // Time for a connection that does not wait for the server.
                let limit = ContinuousClock.now + .milliseconds(200)
                while counts.count == 1, reconnections.value == 0, .now < limit { sched_yield() }
                counts.record(reconnections.value)
            }
        )
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.reconnectWait = .milliseconds(20)
        let transport = NATSTransport(configuration)
        try await transport.connect { if case .reconnected = $0 { reconnections.add() } }
        try await transport.subscribe(to: "a", durableName: nil) { _ in }
        server.breakConnections()
        await reconnections.wait(until: 1)
        #expect(await counts.wait(count: 2) == [0, 0])
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    /// A request that was served in part is over, and the server (2.9.10) does not say so: there is nothing wrong with
    /// its consumer.
    @Test func requestThatTheServerForgetsIsMadeAgainAndNothingElse() async throws {
        let asked = Recorder<String>()
        let server = try HostileServer(greeting: HostileServer.soundGreeting) { subject, number in
            guard subject.hasPrefix("$JS.API.") else { return nil }
            asked.record(subject.split(separator: ".").dropFirst(2).prefix(2).joined(separator: "."))
            if subject.hasPrefix("$JS.API.STREAM.NAMES") { return .init(body: "{\"streams\":[\"SHOP\"]}") }
            guard subject.hasPrefix("$JS.API.CONSUMER.MSG.NEXT."), let name = subject.split(separator: ".").last else {
                return .init(body: #"{"created":"x","config":{"ack_policy":"explicit","filter_subject":"shop.>"}}"#)
            }
            if number > 0 { return nil }
            return .init(subject: "shop.sale", reply: "$JS.ACK.SHOP.\(name).1.1.1.1.0", body: "soup")
        }
        let transport = NATSTransport(NATSConfiguration(servers: [server.url]))
        try await transport.connect { _ in }
        let heard = Recorder<String>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") {
            heard.record($0.text)
            $0.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 1) == ["soup"])
        let order = ["STREAM.NAMES", "STREAM.INFO", "CONSUMER.INFO", "CONSUMER.MSG", "CONSUMER.MSG", "CONSUMER.MSG"]
        #expect(await asked.wait(count: 6).prefix(6) == order[...])
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    static let garbage: [String] = [
        "MSG\r\n", "MSG a\r\n", "MSG a 1\r\n", "MSG a 1 x\r\nx\r\n", "MSG a 1 -5\r\nx\r\n", "MSG a 999 1\r\nx\r\n",
        "MSG a 1 4294967296\r\nx\r\n",
        "MSG a 1 99999999999999999999\r\nx\r\n", "MSG a 1 1\r\nxyz\r\n",
        "HMSG a 1 0 0\r\n\r\n",
        "HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n", "HMSG a 1 18 18\r\nNATS/1.0\r\nnocolon\r\n\r\n",
        "HMSG a 1 20 4\r\nNATS/1.0\r\na: b\r\n\r\n\r\n",
        "HMSG a 1 21 21\r\nNATS/1.0 ???\r\n:::::\r\n\r\n", "-ERR\r\n", "-ERR 'Parser Error'\r\n",
        "-ERR 'Permissions Violation for Publish to \"\r\n",
        "INFO {\r\n", "INFO {\"connect_urls\":[1,2,{}]}\r\n", "+OK\r\n+OK\r\n", "PONG\r\nPONG\r\nPONG\r\n",
        "\r\n\r\n\r\n", "\u{0}\u{FF}\u{FE}",
        "QUIT\r\n",
        String(repeating: "A", count: 100_000) + "\r\n", "MSG \(String(repeating: "s", count: 5_000)) 1 1\r\nx\r\n",
        "MSG a b c d e f g 1\r\nx\r\n",
        "MSG \u{FF}\u{FE} 1 1\r\nx\r\n", "MSG a..b 1 1\r\nx\r\n", "MSG a.* 1 1\r\nx\r\n",
    ]

    /// After a sound greeting, to every kind of subscription.
    @Test(arguments: garbage)
    func garbageEndsAConnectionAtMost(_ garbage: String) async throws {
        let server = try HostileServer(greeting: HostileServer.soundGreeting, afterPing: garbage)
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.reconnectWait = .milliseconds(20)
        configuration.requestTimeout = .milliseconds(100)
        configuration.acknowledgementTimeout = .milliseconds(100)
        configuration.connectTimeout = .milliseconds(300)
        let transport = NATSTransport(configuration)
        let events = Recorder<TransportEvent>()
        do {
            try await transport.connect { events.record($0) }
            try? await transport.subscribe(to: ">", durableName: nil) { _ in }
            try? await transport.subscribe(to: "a", durableName: "kitchen") { $0.settle?(.acknowledged) }
            try? await transport.respond(to: "a") { $0.reply(TransportReply(body: [])) }
            try? await transport.publish(try message("x", to: "a"), durable: false)
            await #expect(throws: BridgeError.self) {
                try await transport.publish(try message("x", to: "a"), durable: true)
            }
            await #expect(throws: BridgeError.self) {
                try await transport.request(try message("x", to: "a"), timeout: .milliseconds(100))
            }
        } catch {
            #expect(error is BridgeError)
        }
        try? await transport.close(timeout: .milliseconds(200))
        server.close()
    }

    /// What JetStream never says.
    static let answers = [
        "", "{", "null", "[]", "{}", "{\"error\":null}", "{\"error\":{\"code\":\"x\"}}", "{\"stream\":3}",
        "{\"seq\":-1}", "\u{0}",
        "{\"streams\":[\"A\"]}",
    ]

    @Test(arguments: answers)
    func answerOfJetStreamThatIsNoneIsAnError(_ answer: String) async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let (liar, peer) = (
            try await Peer.connect(to: server),
            try await Peer.connect(to: server) {
                // Some of the answers are taken for none. Connecting has to be done by then, too.
                $0.requestTimeout = .seconds(2)
                $0.acknowledgementTimeout = .seconds(2)
                $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            }
        )
        let subjects = [
            "$JS.API.STREAM.CREATE.SHOP", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.KV_channels", "shop.sale",
            "$KV.channels.shop.total",
        ]
        for subject in subjects {
            try await liar.transport.respond(to: subject) { $0.reply(TransportReply(body: Array(answer.utf8))) }
        }
        await #expect(throws: BridgeError.self) { try await peer.publish("x", to: "shop.sale", durable: true) }
        await #expect(throws: BridgeError.self) {
            _ = try await peer.transport.store(try message("x", to: "shop.total"))
        }
        await #expect(throws: BridgeError.self) { try await peer.subscribe(to: "shop.>", durableName: "kitchen") }
        try await liar.close()
        try await peer.close()
    }

    private struct Names: Decodable { var consumers: [String] }

    /// Anybody who is allowed to can publish where deliveries arrive.
    @Test func deliveryThatIsNoneIsLeftAlone() async throws {
        let server = try await NATSServer()
        let liar = try await Peer.connect(to: server)
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        try await peer.publish("real", to: "shop.sale", durable: true)
        await received.wait(count: 1)
        let reply = try await liar.transport.request(
            try message("", to: "$JS.API.CONSUMER.NAMES.SHOP"),
            timeout: .patience
        )
        let names = try JSONDecoder().decode(Names.self, from: Data(reply.body)).consumers
        try await liar.publish("forged", to: "_INBOX.channels.SHOP.\(try #require(names.first))")
        try await peer.publish("second", to: "shop.sale", durable: true)
        #expect(await received.wait(count: 2).map(\.text) == ["real", "second"])
        try await liar.close()
        try await peer.close()
    }
}
#endif
