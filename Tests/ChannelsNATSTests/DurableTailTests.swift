#if NATS
import Channels
import ChannelsNATS
import Testing

/// `channels tail --durable`: each stored message once.
@Suite(.fewServers, .hangLimit)
struct DurableTailTests {
    /// What its reader has taken is acknowledged before it ends.
    @Test func durableTailGoesOnWhereItWasThoughItsReaderHasGone() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let tool = Tool(server)
        for number in 1...3 { try await peer.publish("\(number)", to: "shop.sold", durable: true) }
        let first = try await tool.script("\"$TOOL\" tail 'shop.>' --durable audit | head -1")
        #expect(first.output == "shop.sold 1\n")
        try await peer.publish("4", to: "shop.sold", durable: true)
        let second = try await tool.run("tail", "shop.>", "--durable", "audit", "--count", "1")
        #expect(["shop.sold 2\n", "shop.sold 3\n", "shop.sold 4\n"].contains(second.output), "\(second.output)")
        try await peer.close()
    }

    /// It has lost what was acknowledged last.
    @Test func durableTailPrintsEachMessageOnceThoughTheServerIsKilled() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        for number in 1...500 { try await peer.publish("\(number)", to: "shop.sold", durable: true) }
        let running = try await Tool(server).start("tail", "shop.>", "--durable", "audit", until: "shop.sold 500\n")
        server.kill()
        try await server.start()
        try await peer.publish("501", to: "shop.sold", durable: true)
        #expect(await running.output.contains("shop.sold 501\n"))
        let lines = running.output.text.split(separator: "\n").filter { $0.hasPrefix("shop.sold ") }
        #expect(lines == (1...501).map { "shop.sold \($0)" })
        try await peer.close()
    }

    @Test func durableTailGoesOnWhereItWas() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        for number in 1...4 { try await peer.publish("\(number)", to: "shop.sold", durable: true) }
        let tool = Tool(server)
        let first = try await tool.run("tail", "shop.>", "--durable", "audit", "--count", "1")
        let second = try await tool.run("tail", "shop.>", "--durable", "audit", "--count", "3")
        #expect(first.output + second.output == "shop.sold 1\nshop.sold 2\nshop.sold 3\nshop.sold 4\n")
        let streams = try await tool.run("streams").output
        #expect(
            streams.contains("SHOP    shop.>    4 ") && streams.hasPrefix("STREAM  SUBJECTS  MESSAGES"),
            "\(streams)"
        )
        #expect(try await tool.run("streams", "SHOP").output.contains("audit_"))
        // One that shares the name with another is seen: each asks once at a time.
        for _ in 0..<2 { _ = try await peer.subscribe(to: "shop.>", durableName: "audit") }
        while try await !tool.run("streams", "SHOP").output.contains(/\ 2 +- +-\n$/) { try Task.checkCancellation() }
        #expect(try await tool.run("streams", "--json").output.hasPrefix("{\"config\":{\"name\":\"SHOP\""))
        let refusal = "channels: the server has no stream NONE; 'channels streams' lists all\n"
        #expect(try await tool.run("streams", "NONE").errors == refusal)
        try await peer.close()
        let without = Tool(try await NATSServer(.init(jetStream: false)))
        #expect(try await without.run("streams").errors.contains("JetStream is not enabled"))
    }
}
#endif
