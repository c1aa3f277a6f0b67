#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What is published at most once, between connections that stand.
@Suite(.fewServers, .hangLimit)
struct CoreTests {
    @Test func messageArrivesWithItsSubjectHeadersAndBody() async throws {
        let server = try await NATSServer()
        let (sender, receiver) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        let received = try await receiver.subscribe(to: "shop.*")
        let sent = try TransportMessage(
            subject: "shop.sale",
            headers: ["ce-id": "1", "x": "ü; a=\"b\""],
            body: [0, 13, 10, 255]
        )
        try await sender.transport.publish(sent, durable: false)
        let message = try #require(await received.first(1).first)
        #expect(message.message.subject == "shop.sale")
        #expect(message.message.body == [0, 13, 10, 255])
        #expect(message.message.headers["ce-id"] == "1")
        #expect(message.message.headers["x"] == "ü; a=\"b\"")
        #expect(message.message.headers.count == 2)
        #expect(message.settle == nil)
        try await sender.close()
        try await receiver.close()
    }

    @Test func messagesOfOneTaskKeepTheirOrder() async throws {
        let server = try await NATSServer()
        let (sender, receiver) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        let received = try await receiver.subscribe(to: "count.>")
        for number in 0..<20_000 { try await sender.publish(String(number), to: "count.up") }
        let texts = await received.wait(count: 20_000).map(\.text)
        #expect(texts == (0..<20_000).map(String.init))
        try await sender.close()
        try await receiver.close()
    }

    /// Just under the limit the server would end the connection for it: it counts the headers, too, and the C
    /// client does not.
    @Test(arguments: [4_080, 4_096, 10_000]) func replyThatIsTooLargeIsToldToTheAsker(size: Int)
        async throws
    {
        let server = try await NATSServer(.init(configuration: "max_payload: 4096", jetStream: false))
        let (asker, responder) = (try await Peer.connect(to: server), try await Peer.connect(to: server))
        try await responder.transport.respond(to: "report") { request in
            let size = Int(String(decoding: request.message.body, as: UTF8.self)) ?? 0
            request.reply(
                TransportReply(headers: ["content-type": "text/plain"], body: [UInt8](repeating: 1, count: size))
            )
        }
        let large = try await asker.transport.request(try message("\(size)", to: "report"), timeout: .patience)
        #expect(large.body.isEmpty && large.headers["ce-channelserror"]?.contains("payloadTooLarge") == true)
        await responder.events.wait { $0.contains { $0.failure?.code == .payloadTooLarge } }
        let small = try await asker.transport.request(try message("10", to: "report"), timeout: .patience)
        #expect(small.body.count == 10)
        for peer in [asker, responder] { try await peer.close() }
    }

    @Test func requestNobodyRespondsToFailsAtOnce() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let error = await #expect(throws: BridgeError.self) {
            try await peer.transport.request(try TransportMessage(subject: "nobody", body: []), timeout: .patience)
        }
        #expect(error?.code == .noResponder)
        try await peer.close()
    }

    @Test func everyMethodSaysThatTheTransportIsNotConnectedOrClosed() async throws {
        let server = try await NATSServer()
        let transport = NATSTransport(NATSConfiguration(servers: [server.url]))
        let before = await #expect(throws: BridgeError.self) {
            try await transport.publish(try message("", to: "x"), durable: false)
        }
        #expect(before?.code == .notConnected)
        try await transport.connect { _ in }
        try await transport.close(timeout: .patience)
        try await transport.close(timeout: .patience)
        let after = await #expect(throws: BridgeError.self) {
            try await transport.publish(try message("", to: "x"), durable: false)
        }
        #expect(after?.code == .closed)
        let watch = await #expect(throws: BridgeError.self) { try await transport.watch("x") { _ in } }
        #expect(watch?.code == .closed)
    }

    /// 40,000 of them took 36 seconds.
    @Test func messageWithVeryManyHeadersComesAtOnceWithoutThem() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: "count")
        let start = ContinuousClock.now
        try publishRaw(headers: (0..<40_000).map { "h\($0): 1\r\n" }.joined(), "x", to: "count", of: server)
        let failures = await peer.events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure)
        #expect(failures[0].detail?.contains("40000 headers, more than 256") == true, "\(failures)")
        try publishRaw(headers: (0..<256).map { "h\($0): 1\r\n" }.joined(), "y", to: "count", of: server)
        #expect(await received.wait(count: 2).map(\.text) == ["x", "y"])
        #expect(received.all.map(\.message.headers.count) == [0, 256])
        #expect(peer.events.all.compactMap(\.failure).map(\.code) == [.invalidHeader])
        #expect(start.duration(to: .now) < .seconds(25))
        try await peer.close()
    }
}
#endif
