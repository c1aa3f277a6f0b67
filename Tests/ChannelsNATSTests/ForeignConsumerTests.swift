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
        let name = ConsumerRequest.consumerName("kitchen", "shop.>")
        var config: [String: Any] = [
            "durable_name": name, "ack_policy": "explicit", "deliver_policy": "all", "filter_subject": "shop.>",
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

    @Test(arguments: ["max_batch", "max_expires", "max_bytes"])
    func aConsumerThatAllowsLessIsAskedForLess(_ limit: String) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        for number in 0..<20 { try await peer.publish("\(number)", to: "shop.sale", durable: true) }
        let values: [String: Any] = ["max_batch": 3, "max_expires": 200_000_000, "max_bytes": 1_000]
        try await makeConsumer([limit: values[limit]!], by: peer)
        let received = Recorder<String>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        #expect(await received.wait(count: 20) == (0..<20).map(String.init))
        try await peer.publish("last", to: "shop.sale", durable: true)
        #expect(await received.wait(count: 21).last == "last")
        try await peer.close()
    }

    /// A limit that came while it was subscribed.
    @Test func aConsumerThatAllowsLessFromNowOnIsToldAndThenAskedForLess() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await peer.publish("first", to: "shop.sale", durable: true)
        let received = Recorder<String>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        _ = await received.wait(count: 1)
        try await makeConsumer(["max_batch": 2], by: peer)
        let failure = await peer.events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure)[0]
        #expect(failure.code == .settingsDiffer && failure.detail?.contains("Exceeded MaxRequestBatch") == true)
        for number in 0..<5 { try await peer.publish("\(number)", to: "shop.sale", durable: true) }
        #expect(await received.wait(count: 6).dropFirst() == (0..<5).map(String.init)[...])
        #expect(peer.events.all.compactMap(\.failure).count == 1)
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
