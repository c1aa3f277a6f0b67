#if NATS
import Channels
import ChannelsBridge
import ChannelsTesting
import Foundation
import Testing

@testable import ChannelsNATS

/// What is told of a stream that the server has with other settings, and what it refuses.
@Suite(.fewServers, .hangLimit)
struct StreamSettingsTests {
    /// An operator's stream that discards what is old loses messages that were acknowledged.
    @Test func whatDiffersAndDoesNoHarmIsTold() {
        let stream = NATSStream("SHOP", subjects: ["shop.b", "shop.a"])
        var found = stream.settings
        found.values.merge([
            "subjects": .list([.text("shop.b"), .text("shop.a")]), "sealed": .flag(false), "metadata": .members([:]),
            "max_msg_size": .number(-1), "consumer_limits": .members(["max_ack_pending": .number(0)]),
        ]) { $1 }
        #expect(stream.differences(from: found).isEmpty)
        found.values["discard"] = .text("old")
        found.values["of_a_later_server"] = .number(7)
        #expect(
            stream.differences(from: found) == [
                "discard is old at the server and new in the code",
                "of_a_later_server is 7 at the server and unlimited in the code",
            ]
        )
    }

    /// A state would be gone after that time, and one that joins would set its own.
    @Test func theAgeLimitOfTheBucketIsCompared() {
        var bucket = NATSStream("KV_channels", subjects: ["$KV.channels.>"])
        bucket.keepsLastValues = true
        var found = bucket.settings
        found.values["max_bytes"] = .number(1_000)
        #expect(bucket.differences(from: found).isEmpty)
        found.values["max_age"] = .number(60_000_000_000)
        #expect(
            bucket.differences(from: found) == ["limits.age is 60.0 seconds at the server and unlimited in the code"]
        )
    }

    private static let unusable = [
        #"{"subject_transform":{"src":"shop.>","dest":"bank.>"}}"#, #"{"no_ack":true}"#, #"{"allow_msg_counter":true}"#,
        #"{"mirror":{"name":"OTHER"}}"#,
    ]

    /// What is published would not be stored, or be stored where nobody looks.
    @Test(arguments: unusable)
    func aStreamThatWouldLoseMessagesEndsTheRunWithTheNameOfTheSetting(settings: String) async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let operatorOfTheServer = try await Peer.connect(to: server)
        try await operatorOfTheServer.transport.respond(to: "$JS.API.STREAM.INFO.SHOP") { request in
            let text = #"{"config":\#(settings),"created":"2026-01-01T00:00:00Z","state":{"last_seq":1}}"#
            request.reply(TransportReply(body: Array(text.utf8)))
        }
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
        let bridge = Bridge(
            "till",
            switchboard: Switchboard(onFault: { _ in }),
            transport: NATSTransport(configuration),
            routes: [.outgoing(.number, durable: true)],
            configuration: .patient
        )
        let error = await #expect(throws: BridgeError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await bridge.run() }
                try await bridge.waitUntilReady()
                try await bridge.send(7, to: .number)
                try await group.next()
            }
        }
        let name = settings.split(separator: "\"")[1]
        #expect(error?.code == .settingsDiffer && error?.detail?.contains("SHOP cannot be used: \(name) is") == true)
        try await operatorOfTheServer.close()
    }

    /// It answers before it has what a majority has stored: otherwise its stream would count as an older one.
    @Test(arguments: ["SHOP", "KV_channels"])
    func aServerThatHasJustBecomeTheLeaderHasLostNothing(stream: String) async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let (leader, peer) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        let asked = Recorder<Int>()
        try await leader.transport.respond(to: "$JS.API.STREAM.INFO.\(stream)") { request in
            let sequence = [10, 5, 5, 10][asked.count]
            asked.record(sequence)
            let settings = #""config":{"name":"\#(stream)","num_replicas":3},"created":"2026-01-01T00:00:00Z""#
            let text = #"{\#(settings),"state":{"last_seq":\#(sequence)}}"#
            request.reply(TransportReply(body: Array(text.utf8)))
        }
        let (jetStream, bucket) = (try peer.transport.session.jetStream, Bucket())
        for _ in 0..<2 {
            let mark = bucket.mark
            let known = stream == "SHOP" ? nil : mark.bucket
            let found = try await jetStream.identity(ofStream: stream, known: known)
            #expect(found.lastSequence == 10 && !bucket.identify(found, known: mark))
        }
        #expect(asked.all == [10, 5, 5, 10])
        #expect(peer.events.all.compactMap(\.failure).isEmpty)
        for peer in [leader, peer] { try await peer.close() }
    }

    /// What is full is waited for.
    @Test(arguments: [(10_002, true), (10_077, true), (10_065, false)])
    func theLimitOfAnAccountIsAFullStream(code: Int, isFull: Bool) throws {
        let text = #"{"code":400,"err_code":\#(code),"description":"limits exceeded"}"#
        let refusal = try JetStream.decoder.decode(Refusal.self, from: Data(text.utf8))
        #expect((refusal.reason == .full) == isFull)
    }

    /// Servers from 2.11 answer so while more is waiting to be stored than they take, or a copy of the message is. 2.10
    /// calls it a duplicate without a number, even if that copy was refused.
    @Test(arguments: [
        #"{"error":{"code":429,"err_code":10167,"description":"not now"},"stream":"S","seq":0}"#,
        #"{"error":{"code":409,"err_code":10158,"description":"not now"},"stream":"S","seq":0}"#,
        #"{"stream":"S", "seq":0,"duplicate": true}"#, #"{"stream":"S","domain":"hub","seq":0,"duplicate":true}"#,
    ])
    func whatPassesSoonIsPublishedAgain(answer: String) throws {
        let error = #expect(throws: BridgeError.self) {
            try Array(answer.utf8).withUnsafeBytes { try Acknowledgement($0, "shop.sale") }
        }
        #expect(error?.code == .notAcknowledged)
    }

    /// Nobody else could publish while one server of a cluster is down, and a stream has to be created.
    @Test func aStreamThatCannotBeCreatedForNowHoldsUpNoOther() async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let leader = try await Peer.connect(to: server)
        try await leader.answer("$JS.API.STREAM.NAMES", #"{"streams":["SHOP"]}"#)
        try await leader.answer("$JS.API.STREAM.INFO.SHOP", #"{"config":{"name":"SHOP","subjects":["shop.>"]}}"#)
        try await leader.answer("$JS.API.STREAM.INFO.LATER", #"{"error":{"code":404,"err_code":10059}}"#)
        try await leader.answer("$JS.API.STREAM.CREATE.LATER", #"{"error":{"code":400,"err_code":10005}}"#)
        try await leader.answer("shop.sale", #"{"stream":"SHOP","seq":1}"#)
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("LATER", subjects: ["later.>"]), NATSStream("SHOP", subjects: ["shop.>"])]
            $0.requestTimeout = .milliseconds(300)
        }
        try await peer.publish("soup", to: "shop.sale", durable: true)
        for peer in [leader, peer] { try await peer.close() }
    }

    /// Its sequences are low. Otherwise a process that only publishes would notice at the next reconnection.
    @Test func aStreamThatIsCreatedAnewWhileItIsPublishedToIsReported() async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let leader = try await Peer.connect(to: server)
        let stored = Tally()
        try await leader.answer("$JS.API.STREAM.NAMES", #"{"streams":["SHOP"]}"#)
        try await leader.transport.respond(to: "$JS.API.STREAM.INFO.SHOP") { request in
            let settings = #""config":{"name":"SHOP","subjects":["shop.>"]}"#
            let text = #"{"created":"2026-01-0\#(stored.value < 2 ? 1 : 2)T00:00:00Z",\#(settings)}"#
            request.reply(TransportReply(body: Array(text.utf8)))
        }
        try await leader.transport.respond(to: "shop.sale") { request in
            let text = #"{"stream":"SHOP","seq":\#([5, 6, 1, 2][stored.value])}"#
            stored.add()
            request.reply(TransportReply(body: Array(text.utf8)))
        }
        let peer = try await Peer.connect(to: server) { $0.createsStreams = false }
        for _ in 0..<4 {
            try await peer.publish("soup", to: "shop.sale", durable: true)
        }
        #expect(peer.events.all.compactMap(\.failure).map(\.code) == [.messagesLost])
        for peer in [leader, peer] { try await peer.close() }
    }
}

extension Peer {
    fileprivate func answer(_ subject: String, _ text: String) async throws {
        try await transport.respond(to: subject) { $0.reply(TransportReply(body: Array(text.utf8))) }
    }
}
#endif
