#if NATS
import ChannelsBridge
import ChannelsTesting
import Foundation
import Testing

@testable import ChannelsNATS

/// What is told of a stream that the server has with other settings, and what it refuses.
@Suite(.fewServers, .hangLimit)
struct StreamSettingsTests {
    private func found(_ text: String) throws -> StreamSettings {
        try JetStream.decoder.decode(StreamSettings.self, from: Data(text.utf8))
    }

    /// An operator's stream that discards what is old loses messages that were acknowledged.
    @Test func whatAFullStreamDiscardsIsCompared() throws {
        let stream = NATSStream("SHOP", subjects: ["shop.>"])
        #expect(stream.differences(from: try found(#"{"discard":"new"}"#)).isEmpty)
        let differences = stream.differences(from: try found(#"{"discard":"old"}"#))
        #expect(differences == ["what a full stream discards is old at the server and new in the code"])
    }

    /// A state would be gone after that time, and one that joins would set its own.
    @Test func theAgeLimitOfTheBucketIsCompared() throws {
        var bucket = NATSStream("KV_channels", subjects: ["$KV.channels.>"])
        bucket.keepsLastValues = true
        #expect(bucket.differences(from: try found(#"{"max_age":0,"max_bytes":1000}"#)).isEmpty)
        let differences = bucket.differences(from: try found(#"{"max_age":60000000000}"#))
        #expect(differences.count == 1 && differences[0].hasPrefix("limits.age is 60.0 seconds at the server"))
    }

    /// It answers before it has what a majority has stored: otherwise its stream would count as an older one.
    @Test func aServerThatHasJustBecomeTheLeaderHasLostNothing() async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let (leader, peer) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        let asked = Recorder<Int>()
        try await leader.transport.respond(to: "$JS.API.STREAM.INFO.SHOP") { request in
            let sequence = [10, 5, 5, 10][asked.count]
            asked.record(sequence)
            let settings = #""config":{"name":"SHOP","num_replicas":3},"created":"2026-01-01T00:00:00Z""#
            let text = #"{\#(settings),"state":{"last_seq":\#(sequence)}}"#
            request.reply(TransportReply(body: Array(text.utf8)))
        }
        let jetStream = try peer.transport.session.jetStream
        for _ in 0..<2 { #expect(try await jetStream.identity(ofStream: "SHOP").lastSequence == 10) }
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

    /// Servers from 2.11 answer so while more is waiting to be stored than they take, or a copy of the message is.
    @Test(arguments: [(429, 10_167), (409, 10_158)]) func whatPassesSoonIsPublishedAgain(code: Int, number: Int) throws
    {
        let answer = #"{"error":{"code":\#(code),"err_code":\#(number),"description":"not now"},"stream":"S","seq":0}"#
        let error = #expect(throws: BridgeError.self) {
            try Array(answer.utf8).withUnsafeBytes { try Acknowledgement($0, "shop.sale") }
        }
        #expect(error?.code == .notAcknowledged)
    }
}
#endif
