#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

private struct Sale: Codable, Hashable, Sendable {
    var total: Int
}

private struct Echo: Codable, Hashable, Sendable {
    var echo: Sale
}

extension ChannelName<Sale> {
    fileprivate static var sold: Self { "shop.sold" }
}

extension StateName<Sale> {
    fileprivate static var last: Self { "shop.last" }
}

extension RequestName<Sale, Sale> {
    fileprivate static var refund: Self { "refund" }
}

extension RequestName<Sale, Echo> {
    fileprivate static var echo: Self { "echo" }
}

/// Clients that others have written: nats-py, with events of the official CloudEvents SDK.
@Suite(
    .fewServers,
    .hangLimit,
    .enabled(if: PythonPeer.isInstalled, "needs clients in Python, which Scripts/nats installs in .build-python")
)
struct ForeignClientTests {
    static let modes = ["binary", "structured"]

    @Test(arguments: modes, [false, true])
    func theirMessagesAreHeard(_ mode: String, _ durable: Bool) async throws {
        let server = try await NATSServer()
        let heard = Recorder<Posted<Sale>>()
        try await withBridge(over: server, [.incoming(.sold, durable: durable)]) { board, _ in
            let token = board[.sold].posts.listen { heard.record($0) }
            for (type, total) in [("Sale", 1), ("shop.sold", 2)] {
                let command = durable ? "store" : "send"
                try await PythonPeer(server, command, mode, "shop.sold", type, "{\"total\": \(total)}").events()
            }
            let posts = await heard.wait(count: 2)
            #expect(posts.map(\.message) == [Sale(total: 1), Sale(total: 2)])
            #expect(posts.allSatisfy { $0.origin == .remote("/python") })
            withExtendedLifetime(token) {}
        }
    }

    @Test(arguments: [false, true]) func ourMessagesAreValidEvents(_ durable: Bool) async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.outgoing(.sold, durable: durable)]) { board, _ in
            // The stream exists once something has been stored.
            await board[.sold].postAndWait(Sale(total: 1))
            let peer =
                durable
                ? try await PythonPeer(server, "fetch", "shop.sold", "python", "2")
                : try await PythonPeer(server, "hear", "shop.sold", "1")
            await board[.sold].postAndWait(Sale(total: 2))
            let events = try await peer.events()
            #expect(events.map(\.data) == (durable ? [["total": 1], ["total": 2]] : [["total": 2]]))
            #expect(events.allSatisfy { $0.type == "Sale" && $0.hasTime && $0.source.hasPrefix("channels/till/") })
        }
    }

    @Test(arguments: modes) func theirRequestsAreAnswered(_ mode: String) async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.answering(.refund)]) { board, _ in
            let token = board.requests(.refund).respond { Sale(total: -$0.total) }
            let response = try await PythonPeer(server, "ask", mode, "refund", "Sale", "{\"total\": 3}").events()
            #expect(response.map(\.data) == [["total": -3]])
            #expect(response.map(\.type) == ["Sale"])
            withExtendedLifetime(token) {}
        }
    }

    @Test(arguments: modes) func theyAnswerOurRequests(_ mode: String) async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.asking(.echo)]) { board, _ in
            let responder = try await PythonPeer(server, "respond", mode, "echo", "1")
            let answer = try await board.requests(.echo).ask(Sale(total: 4))
            #expect(answer == Echo(echo: Sale(total: 4)))
            #expect(try await responder.events().map(\.type) == ["Sale"])
        }
    }

    @Test(arguments: modes) func statesThatTheySetAreSetHere(_ mode: String) async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.both(state: .last, initial: Sale(total: 0))]) { board, _ in
            let state = board.state(.last, initial: Sale(total: 0))
            try await PythonPeer(server, "put", mode, "channels", "shop.last", "Sale", "{\"total\": 5}").events()
            _ = await state.first { $0.total == 5 }
            #expect(try await Tool(server).run("state", "shop.last").output == "{\"total\": 5}\n")
        }
    }

    // MARK: The tool

    @Test func whatTheToolPostsIsAValidEvent() async throws {
        let server = try await NATSServer()
        let peer = try await PythonPeer(server, "hear", "shop.*", "2")
        let tool = Tool(server)
        #expect(try await tool.run("post", "shop.sold", "{\"total\": 6}").status == 0)
        #expect(try await tool.run("post", "shop.ü\u{202E}", "{\"total\": 7}").status == 0)
        let events = try await peer.events()
        #expect(events.map(\.data) == [["total": 6], ["total": 7]])
        #expect(events.map(\.type) == ["shop.sold", "shop.ü\u{202E}"])
        #expect(events.allSatisfy { $0.hasTime && $0.source == "channels" })
    }

    @Test func tailPrintsTheDataOfAnEventInEitherMode() async throws {
        let server = try await NATSServer()
        let running = try await Tool(server).start("tail", "shop.*", "--count", "4", until: "listening")
        for mode in Self.modes {
            try await PythonPeer(server, "send", mode, "shop.sold", "Sale", "{\"total\": 8}").events()
            try await PythonPeer(server, "send", mode, "shop.text", "Text", "\"ü\"").events()
        }
        #expect(await running.output.contains("status 0"), "\(running.output.text)")
        // In binary mode, the SDK takes a string for the bytes of the message, and not for JSON.
        let lines = [
            "shop.sold {\"total\": 8}", "shop.text \"ü\"", "shop.sold {\"total\": 8}", "shop.text \"\\u00fc\"",
        ]
        #expect(running.lines.filter { $0.hasPrefix("shop.") } == lines)
    }

    @Test(arguments: modes) func theToolAsksAndResponds(_ mode: String) async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let responder = try await PythonPeer(server, "respond", mode, "echo", "1")
        #expect(try await tool.run("ask", "echo", "{\"total\": 9}").output == "{\"echo\": {\"total\": 9}}\n")
        #expect(try await responder.events().map(\.type) == ["echo"])
        let running = try await tool.start("respond", "refund", "{\"total\": -1}", until: "responding")
        let response = try await PythonPeer(server, "ask", mode, "refund", "Sale", "{\"total\": 1}").events()
        #expect(response.map(\.data) == [["total": -1]])
        #expect(await running.output.contains("refund {\"total\": 1}\n"))
        withExtendedLifetime(running) {}
    }
}
#endif
