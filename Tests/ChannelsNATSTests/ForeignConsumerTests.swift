#if NATS
import Channels
import ChannelsBridge
import ChannelsTesting
import Foundation
import Testing

@testable import ChannelsNATS

/// Consumers that an administrator has made, and streams that come later.
@Suite(.fewServers, .hangLimit)
struct ForeignConsumerTests {
    private static let stream = NATSStream("SHOP", subjects: ["shop.>"])

    /// Makes the consumer of a durable name, as `nats consumer add` does.
    private func makeConsumer(_ limits: [String: Any], by peer: Peer) async throws {
        let name = ConsumerRequest.consumerName("kitchen", "shop.number")
        var config: [String: Any] = [
            "durable_name": name, "ack_policy": "explicit", "deliver_policy": "all", "filter_subject": "shop.number",
            "ack_wait": 8_000_000_000, "max_ack_pending": NATSConfiguration.Deliveries().pendingLimit,
            "max_deliver": -1, "replay_policy": "instant",
        ]
        config.merge(limits) { $1 }
        let body = try JSONSerialization.data(withJSONObject: ["stream_name": "SHOP", "config": config])
        let request = try TransportMessage(subject: "$JS.API.CONSUMER.DURABLE.CREATE.SHOP.\(name)", body: Array(body))
        let reply = try await peer.transport.request(request, timeout: .patience)
        let answer = String(decoding: reply.body, as: UTF8.self)
        try #require(!answer.contains("error"), "\(answer)")
    }

    private static let settings: [String: any Sendable] = [
        "ack_policy": "none", "filter_subject": "shop.other", "max_deliver": 3, "headers_only": true,
        "inactive_threshold": 3_600_000_000_000, "max_batch": 3, "max_expires": 200_000_000, "max_bytes": 1_000,
        "deliver_subject": "push",
    ]

    /// It would lose messages, or receive none, without a word.
    @Test(arguments: settings.keys.sorted())
    func aConsumerThatIsOfNoUseEndsTheRunWithTheNameOfTheSetting(_ name: String) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await peer.publish("7", to: "shop.number", durable: true)
        try await makeConsumer([name: Self.settings[name]!], by: peer)
        let error = await #expect(throws: BridgeError.self) { try await kitchen(over: server).run() }
        #expect(error?.code == .settingsDiffer && error?.subject == "shop.number", "\(String(describing: error))")
        #expect(error?.detail?.contains("the durable name kitchen cannot be used: \(name) is") == true)
        try await peer.close()
    }

    /// A limit that came while it was subscribed.
    @Test func aConsumerThatBecomesOfNoUseEndsTheRun() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await peer.publish("7", to: "shop.number", durable: true)
        let bridge = kitchen(over: server)
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        try await makeConsumer(["max_batch": 2], by: peer)
        let error = await #expect(throws: BridgeError.self) { try await running.value }
        #expect(error?.detail?.contains("max_batch is 2 at the server and 256 in the code") == true)
        try await peer.close()
    }

    private func kitchen(over server: NATSServer, _ configuration: NATSConfiguration? = nil) -> Bridge {
        Bridge(
            "kitchen",
            switchboard: Switchboard(onFault: { _ in }),
            transport: NATSTransport(configuration ?? NATSConfiguration(servers: [server.url])),
            routes: [.incoming(.number, durable: true)],
            configuration: .patient
        )
    }

    @Test func aStreamThatTheServerCannotHaveEndsTheRun() async throws {
        let server = try await NATSServer()
        var configuration = NATSConfiguration(servers: [server.url])
        (configuration.streams, configuration.replicas) = ([Self.stream], 3)
        let start = ContinuousClock.now
        let error = await #expect(throws: BridgeError.self) { try await kitchen(over: server, configuration).run() }
        #expect(error?.code == .unsupported && error?.detail?.contains("replicas > 1 not supported") == true)
        #expect(start.duration(to: .now) < .patience)
    }

    /// A server from version 2.11 on stores them, if the stream says so.
    @Test func whatStandsForARemovedMessageIsNoMessage() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        let marker = try TransportMessage(subject: "shop.number", headers: ["Nats-Marker-Reason": "MaxAge"], body: [])
        try await peer.transport.publish(marker, durable: true)
        try await peer.publish("7", to: "shop.number", durable: true)
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        #expect(await received.wait(count: 1).map(\.text) == ["7"])
        #expect(try await peer.transport.unsettledCount(of: "kitchen", on: "shop.>") == 1)
        #expect(peer.events.all.compactMap(\.failure).isEmpty)
        try await peer.close()
    }

    /// With several replicas, a server may say that it has sent everything before the messages are there.
    @Test(arguments: ["409 Batch Completed", "418 Of a later server"])
    func aStatusOfWhichNothingFollowsChangesNothing(status: String) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        let words = status.split(separator: " ", maxSplits: 1).map(String.init)
        let said = Recorder<Void>()
        try await peer.transport.respond(to: "$JS.API.CONSUMER.MSG.NEXT.SHOP.*") { request in
            let headers: TransportHeaders = ["Status": words[0], "Description": words[1]]
            request.reply(TransportReply(headers: headers, body: []))
            said.record(())
        }
        let received = Recorder<String>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        for number in 0..<600 {
            try await peer.publish("\(number)", to: "shop.number", durable: true)
        }
        #expect(await received.wait(count: 600) == (0..<600).map(String.init))
        await said.wait(count: 3)
        let failures = peer.events.all.compactMap(\.failure)
        #expect(failures.count == (words[0] == "418" ? 1 : 0), "\(failures)")
        #expect(failures.allSatisfy { $0.detail?.contains("kitchen: \(status)") == true })
        try await peer.close()
    }

    @Test func aDurableRouteWaitsForItsStreamAndSaysSo() async throws {
        let server = try await NATSServer()
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.createsStreams = false
        let faults = Recorder<Fault>()
        let board = Switchboard(onFault: { faults.record($0) })
        let heard = Recorder<Int>()
        let token = board[.number].listen { number in heard.record(number) }
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: NATSTransport(configuration),
            routes: [.incoming(.number, durable: true)],
            configuration: .patient
        )
        let running = Task { try await bridge.run() }
        let status = await bridge.status.first { $0.reason?.code == .notStored }
        #expect(status?.phase == .connecting)
        await faults.wait { $0.contains { "\($0)".contains("no stream keeps it") } }
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        let start = ContinuousClock.now
        try await peer.publish("7", to: "shop.number", durable: true)
        #expect(await heard.wait(count: 1) == [7])
        // Twice what is promised: other tests run at the same time.
        #expect(start.duration(to: .now) < .seconds(4))
        #expect(bridge.status.value.isReady)
        // Once, however often it has tried.
        #expect(faults.all.count { "\($0)".contains("no stream keeps it") } == 1)
        running.cancel()
        try await running.value
        try await peer.close()
        withExtendedLifetime(token) {}
    }

    /// Running processes hear from there, without having been started again.
    @Test(arguments: [false, true]) func aSubjectThatIsMovedToAnotherStreamIsHeardFromThere(isRenamed: Bool)
        async throws
    {
        let server = try await NATSServer()
        let owner = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await owner.publish("1", to: "shop.number", durable: true)
        let peer = try await Peer.connect(to: server) {
            $0.createsStreams = false
            $0.requestTimeout = .seconds(1)
        }
        let received = Recorder<String>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        _ = await received.wait(count: 1)
        if isRenamed {
            _ = try await owner.askJetStream("STREAM.DELETE.SHOP")
        } else {
            let settings = Array(#"{"name":"SHOP","subjects":["old.>"],"num_replicas":1,"discard":"new"}"#.utf8)
            let update = try TransportMessage(subject: "$JS.API.STREAM.UPDATE.SHOP", body: settings)
            _ = try await owner.transport.request(update, timeout: .patience)
        }
        let again = try await Peer.connect(to: server) { $0.streams = [NATSStream("STORE", subjects: ["shop.>"])] }
        try await again.publish("2", to: "shop.number", durable: true)
        #expect(await received.wait(count: 2) == ["1", "2"])
        let moved = await peer.events.wait { $0.contains { $0.failure?.code == .settingsDiffer } }
        #expect("\(moved)".contains("the stream STORE stores it now instead of SHOP"))
        try await again.publish("3", to: "shop.number", durable: true)
        #expect(await received.wait(count: 3).last == "3")
        for peer in [owner, peer, again] { try await peer.close() }
    }

    /// Also one that has been lost meanwhile, and is created by somebody else.
    @Test func aStreamThatWasDeletedIsFoundSoonAfterItIsThereAgain() async throws {
        let server = try await NATSServer()
        let owner = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await owner.publish("1", to: "shop.number", durable: true)
        let peer = try await Peer.connect(to: server) { $0.createsStreams = false }
        let received = Recorder<String>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        _ = await received.wait(count: 1)
        _ = try await owner.askJetStream("STREAM.DELETE.SHOP")
        await peer.events.wait { $0.contains { $0.failure?.code == .notStored } }
        // By then, pauses that grow would be long.
        await peer.events.wait { $0.count { $0.failure?.code == .notStored } >= 3 }
        let again = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        let start = ContinuousClock.now
        try await again.publish("2", to: "shop.number", durable: true)
        #expect(await received.wait { $0.contains("2") }.last == "2")
        #expect(start.duration(to: .now) < .seconds(4))
        for peer in [owner, peer, again] { try await peer.close() }
    }
}
#endif
