#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// States: the last value of a subject, and every later one.
@Suite(.fewServers, .hangLimit)
struct LastValueTests {
    private func watch(_ pattern: ChannelPattern, _ peer: Peer) async throws -> Recorder<StoredValue> {
        let record = Recorder<StoredValue>()
        try await peer.transport.watch(pattern) { record.record($0) }
        return record
    }

    @Test func watcherThatComesLateGetsTheCurrentValueBeforeWatchReturns() async throws {
        let server = try await NATSServer()
        let (writer, reader) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        for number in 1...5 { _ = try await writer.transport.store(try message(String(number), to: "shop.total")) }
        let record = try await watch("shop.total", reader)
        #expect(record.all.map { String(decoding: $0.message.body, as: UTF8.self) } == ["5"])
        #expect(record.all.first?.message.subject == "shop.total")
        try await writer.close()
        try await reader.close()
    }

    /// It watches nothing. A bridge then stores its values again.
    @Test func whoOnlyStoresIsToldThatTheServerHasLostTheValues() async throws {
        let server = try await NATSServer()
        let writer = try await Peer.connect(to: server)
        _ = try await writer.transport.store(try message("5", to: "shop.total"))
        server.kill()
        try server.loseStorage()
        try await server.start()
        await writer.events.wait { events in
            events.contains { if case .lastValuesLost(nil) = $0 { true } else { false } }
        }
        try await writer.close()
    }

    /// A last header without a value is one that the C client cannot read, nor any other of the message.
    @Test func valueWhoseHeadersCannotBeReadComesWithoutThem() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        _ = try await peer.transport.store(try message("first", to: "shop.total"))
        try publishRaw(headers: "broken:\r\n", "x", to: "$KV.channels.shop.total", of: server)
        let record = try await watch("shop.total", peer)
        await peer.events.wait { $0.contains { $0.failure?.code == .invalidHeader } }
        _ = try await peer.transport.store(try message("second", to: "shop.total"))
        let values = await record.wait(count: 2)
        #expect(values.map { String(decoding: $0.message.body, as: UTF8.self) } == ["x", "second"])
        // Said once, and not as often as the server can be asked.
        #expect(peer.events.all.filter { $0.failure?.code == .invalidHeader }.count == 1)
        try await peer.close()
    }

    @Test func subjectsDoNotMix() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let (first, second) = (try await watch("shop.total", peer), try await watch("shop.total.today", peer))
        _ = try await peer.transport.store(try message("a", to: "shop.total"))
        _ = try await peer.transport.store(try message("b", to: "shop.total.today"))
        #expect(await first.wait(count: 1).first?.message.body == Array("a".utf8))
        #expect(await second.wait(count: 1).first?.message.body == Array("b".utf8))
        #expect(first.count == 1)
        try await peer.close()
    }

    /// One consumer serves them all, whatever is in the bucket.
    @Test func patternIsWatchedThroughARestartAndWithoutWhatIsNoChannelName() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        for number in 0..<300 { _ = try await peer.transport.store(try message("\(number)", to: "presence.\(number)")) }
        let long = String(repeating: "x", count: 1_100)
        try publishRaw(headers: "a: b\r\n", "x", to: "$KV.channels.presence.\(long)", of: server)
        _ = try await peer.transport.store(try message("other", to: "shop.total"))
        let record = try await watch("presence.*", peer)
        #expect(record.all.map(\.message.subject) == (0..<300).map { "presence.\($0)" })
        await peer.events.wait { $0.contains { $0.failure?.code == .invalidEnvelope } }
        server.kill()
        try await server.start()
        await peer.events.wait { $0.contains { $0.isReconnected } }
        _ = try await peer.transport.store(try message("new", to: "presence.new"))
        _ = try await peer.transport.store(try message("after", to: "presence.7"))
        let values = await record.wait(count: 302).dropFirst(300)
        #expect(values.map { String(decoding: $0.message.body, as: UTF8.self) } == ["new", "after"])
        try await peer.close()
    }

    @Test func watchSurvivesThatTheServerForgetsTheConsumer() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let record = try await watch("shop.total", peer)
        _ = try await peer.transport.store(try message("before", to: "shop.total"))
        await record.wait(count: 1)
        server.kill()
        try await server.start()
        await peer.events.wait { $0.contains { $0.isReconnected } }
        _ = try await peer.transport.store(try message("after", to: "shop.total"))
        let values = await record.wait(count: 2)
        #expect(values.map { String(decoding: $0.message.body, as: UTF8.self) } == ["before", "after"])
        try await peer.close()
    }

    @Test func whoMaySetOneStateCannotRemoveTheOthers() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        _ = try await peer.transport.store(try message("1", to: "shop.total"))
        try publishRaw(headers: "Nats-Rollup: all\r\n", "x", to: "$KV.channels.shop.open", of: server)
        let record = try await watch("shop.total", peer)
        #expect(record.all.map { String(decoding: $0.message.body, as: UTF8.self) } == ["1"])
        try await peer.close()
    }

    /// As other clients create it.
    @Test func bucketThatPermitsRollupsIsUsedAsItIs() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let settings = """
            {"name":"KV_channels","subjects":["$KV.channels.>"],"storage":"file","num_replicas":1,\
            "max_msgs_per_subject":1,"discard":"new","allow_rollup_hdrs":true,"deny_delete":true,"allow_direct":true}
            """
        let answer = try await peer.transport.request(
            try message(settings, to: "$JS.API.STREAM.CREATE.KV_channels"),
            timeout: .patience
        )
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("error"))
        _ = try await peer.transport.store(try message("1", to: "shop.total"))
        let record = try await watch("shop.total", peer)
        #expect(record.count == 1)
        #expect(peer.events.all.compactMap(\.failure).isEmpty)
        try await peer.close()
    }
}
#endif
