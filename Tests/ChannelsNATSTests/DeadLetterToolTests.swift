#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// Dead letters on a server, by the tool `channels`.
@Suite(.fewServers, .hangLimit)
struct DeadLetterToolTests {
    @Test func deadLettersArePutBackOnTheirChannels() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"]), NATSStream("DEAD", subjects: ["dead.>"])]
        }
        for number in 1...3 {
            try await peer.keepLetter("\(number)", of: "shop.sold", id: "\(number)")
        }
        let received = try await peer.subscribe(to: "shop.sold", durableName: "kitchen")
        let tool = Tool(server)
        let first = try await tool.run("dead", "putback", "--all", "--count", "1")
        #expect(first.output == "1\n" && first.errors.contains("2 letters are left"))
        let rest = try await tool.run("dead", "putback", "--all", "--count", "2")
        #expect(rest.output == "2\n" && !rest.errors.contains("left"))
        #expect(await received.wait(count: 3).map(\.text) == ["1", "2", "3"])
        #expect(try await tool.run("dead", "putback", "--all", "--name", "none").errors.contains("no stream keeps it"))
        try await peer.close()
    }

    @Test func lettersAreListedShownPutBackAndDroppedOneByOne() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"]), NATSStream("DEAD", subjects: ["dead.>"])]
        }
        for number in 1...4 {
            let letter = DeadLetter(
                message: try message("\(number) ü\n\u{1B}", to: "shop.sold", id: "m\(number)"),
                error: BridgeError(.tooManyFailures, subject: "shop.sold"),
                deliveryCount: 3
            )
            try await peer.transport.keep(letter, on: "dead.shop.sold", for: "kitchen")
        }
        let received = try await peer.subscribe(to: "shop.sold", durableName: "kitchen")
        let tool = Tool(server)
        #expect(try await tool.run("streams").output.contains(/DEAD .* 4 +- +- +-\n/))
        let list = try await tool.run("dead", "list").output.split(separator: "\n")
        #expect(list.count == 5)
        #expect(list[1].contains(/^1 +20.*Z +shop\.sold +kitchen +3 +tooManyFailures on 'shop\.sold'$/))
        let shown = try await tool.run("dead", "show", "m2").output
        #expect(shown.contains("letter    2\n") && shown.contains("message   m2\n"))
        #expect(shown.hasSuffix("body      2 ü\n          \\u001b\n"))
        let back = try await tool.run("dead", "putback", "3")
        #expect(back.output == "put 3 back on shop.sold for kitchen\n" && back.errors.isEmpty)
        #expect(await received.wait(count: 1).map(\.text) == ["3 ü\n\u{1B}"])
        #expect(try await tool.run("dead", "drop", "2").output == "dropped 2 of shop.sold\n")
        for command in ["show", "putback", "drop"] {
            let unknown = try await tool.run("dead", command, "1", "3")
            #expect(unknown.status == 1 && unknown.output.isEmpty && unknown.errors.contains("there is no letter '3'"))
        }
        #expect(try await tool.run("dead", "putback", "--all").output == "2\n")
        #expect(try await tool.run("dead", "list", "--json").output.isEmpty)
        let other = DeadLetter(
            message: try message("5", to: "shop.sold", id: "m5"),
            error: BridgeError(.tooManyFailures),
            deliveryCount: 3
        )
        try await peer.transport.keep(other, on: "dead.shop.sold", for: "pantry")
        let gone = try await tool.run("dead", "putback", "--all")
        #expect(gone.output == "1\n" && gone.errors.contains("there is no durable name 'pantry' on shop.sold"))
        #expect(try await tool.run("dead", "putback", "1").errors.contains("there is no letter '1'"))
        #expect(try await tool.run("streams").output.contains(/DEAD .* 0 +- +- +-\n/))
        // The oldest, which nobody settles.
        #expect(
            try await tool.run("streams", "SHOP").output.contains(
                /kitchen_\w+ +shop\.sold +\d+ +\d+ +0 +\d+ +\d+s +-\n/
            )
        )
        try await peer.close()
    }
}
#endif
