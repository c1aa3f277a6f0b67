#if Inspector
import Channels
import ChannelsDiagnostics
import Foundation
import Logging
import ServiceLifecycle
import Testing

@testable import ChannelsInspector

/// What a page hears.
@Suite(.hangLimit)
struct EventTests {
    private func names(_ picture: [String: Any]) -> Set<String> {
        Set((picture["channels"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String })
    }

    @Test func aPageGetsAPictureAtOnceAndThenOneForEachLook() async throws {
        let board = Switchboard()
        let owner = Owner()
        let counted: ChannelName<Int> = "shop.counted"
        board[counted].listen(owner) { _, _ in }
        try await withInspector(board) { served async throws in
            let events = try await served.events()
            #expect(Reply(events.head).field("Content-Type") == "text/event-stream")
            let first = try await events.next()
            #expect(first["tracing"] as? String == "on")
            #expect(names(first) == ["shop.counted"])
            let later: ChannelName<Int> = "shop.later"
            board[later].listen(owner) { _, _ in }
            let second = try await events.first { names($0).contains("shop.later") }
            #expect(names(second) == ["shop.counted", "shop.later"])
            board.removeListeners(of: owner)
            let last = try await events.first { names($0).isEmpty }
            let numbers = [first, second, last].compactMap { $0["number"] as? Int }
            #expect(numbers.count == 3 && numbers == numbers.sorted() && Set(numbers).count == 3)
        }
        withExtendedLifetime(owner) {}
    }

    @Test func everyPageHearsTheSame() async throws {
        let board = Switchboard()
        let owner = Owner()
        try await withInspector(board) { served async throws in
            let pages = try await [served.events(), served.events(), served.events()]
            for page in pages { _ = try await page.next() }
            board[ChannelName<Int>("shop.new")].listen(owner) { _, _ in }
            for page in pages { _ = try await page.first { names($0) == ["shop.new"] } }
        }
        withExtendedLifetime(owner) {}
    }

    @Test func hostileNameIsEscapedInJSONAndMermaid() async throws {
        let board = Switchboard()
        let owner = Owner()
        let name = "<img/src=x/onerror=alert(1)›\u{202E}\"];"
        let channel = try board[ChannelName<Int>(validating: name)]
        channel.listen(owner) { _, _ in }
        try await withInspector(board) { served async throws in
            let events = try await served.events()
            #expect(try await names(events.next()) == [name])
            let text = try await served.response("GET /picture.mmd").body
            #expect(text.contains("#60;img/src=x/onerror=alert#40;1#41;›\\u{202e}#34;#93;#59;"))
            #expect(!text.contains("<") && !text.unicodeScalars.contains("\u{202E}"))
        }
        withExtendedLifetime(owner) {}
    }

    @Test func samePictureIsServedWithAndWithoutAPage() async throws {
        let board = Switchboard()
        let owner = Owner()
        board[ChannelName<Int>("shop.counted")].listen(owner, priority: .high) { _, _ in }
        try await withInspector(board) { served async throws in
            let before = try await served.response("GET /picture.json")
            #expect(before.field("Content-Disposition") == "attachment; filename=\"channels.json\"")
            #expect(before.body.contains("\"shop.counted\""))
            #expect(before.body.contains("\"priority\" : 100"))
            let events = try await served.events()
            _ = try await events.next()
            #expect(try await served.response("GET /picture.json").body.contains("\"owner\" : \"Owner\""))
        }
        withExtendedLifetime(owner) {}
    }

    @Test func withAPageOpenEveryPostOfABusyChannelIsCounted() async throws {
        let board = Switchboard()
        let owner = Owner()
        let busy = board.channel(ChannelName<Int>("shop.busy"))
        busy.listen(owner) { _, _ in }
        let most = 20_000
        try await withInspector(board) { served async throws in
            let events = try await served.events()
            _ = try await events.next()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { for message in 0..<(most / 2) { busy.post(message) } } }
            }
            _ = try await events.first { picture in
                (picture["channels"] as? [[String: Any]] ?? []).contains { $0["posts"] as? Int == most }
            }
            let picture = try await served.response("GET /picture.json").body
            let parsed = try JSONSerialization.jsonObject(with: Data(picture.utf8)) as? [String: [[String: Any]]]
            let channel = try #require(parsed?["channels"]?.first)
            #expect(channel["posts"] as? Int == most)
            #expect((channel["listeners"] as? [[String: Any]])?.first?["delivered"] as? Int == most)
            #expect((channel["senders"] as? [[String: Any]])?.first?["posts"] as? Int == most)
        }
        withExtendedLifetime(owner) {}
    }

    @Test func whenTheLastPageClosesWhatTheProgramRecordsRemains() async throws {
        let board = Switchboard(diagnostics: .counts)
        let owner = Owner()
        let channel = board.channel(ChannelName<Int>("shop.watched"))
        channel.listen(owner) { _, _ in }
        @Sendable func shown() throws -> ChannelSnapshot { try #require(board.snapshot().channels.first) }
        try await withInspector(board) { first async throws in
            try await withInspector(board) { second async throws in
                let pages = try await [first.events(), second.events()]
                for page in pages { _ = try await page.next() }
                let off = try await second.response(
                    "POST /tracing?mode=off",
                    ["Content-Type": "application/json"],
                    body: "{}"
                )
                #expect(off.status == 204)
                channel.post(1)
                #expect(try shown().messages.map(\.text) == ["1"])
                // Closing is noticed when the connection says so, not at once.
                try await pages[0].connection.close()
                await wait(for: try? shown().messages) { $0?.isEmpty == true }
                board.diagnostics = .off
                channel.post(2)
                #expect(try shown().postCount == 2)
                try await pages[1].connection.close()
                await wait(for: try? shown()) { $0 != nil && $0?.postCount == nil }
                board.diagnostics = .counts
                let page = try await first.events()
                _ = try await page.next()
                channel.post(3)
                #expect(try shown().messages.map(\.text) == ["3"])
                try await page.connection.close()
                await wait(for: try? shown().messages) { $0?.isEmpty == true }
                channel.post(4)
                #expect(try shown().postCount == 2)
                #expect(board.diagnostics == .counts)
            }
        }
        withExtendedLifetime(owner) {}
    }

    @Test func unknownPathsAndMethodsAreRefusedInWords() async throws {
        try await withInspector { served async throws in
            #expect(try await served.response("GET /../../etc/passwd").status == 404)
            #expect(try await served.response("GET /%2e%2e/main.js").status == 404)
            #expect(try await served.response("DELETE /").status == 405)
            #expect(try await served.response("GET /channel?id=1").status == 404)
            #expect(try await served.response("GET /channel?id=9999999999999999999999").status == 404)
        }
    }

    /// The program ends by SIGTERM, whoever looks at it.
    @Test func gracefulShutdownEndsOpenStreams() async throws {
        let (addresses, source) = AsyncStream.makeStream(of: String.self)
        let inspector = Inspector(Switchboard(), port: 0) { source.yield($0) }
        let group = ServiceGroup(
            services: [inspector],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        async let ended: Void = group.run()
        let address = try #require(await addresses.first { _ in true })
        let port = try #require(URLComponents(string: address)?.port)
        let events = try await Served(port: port, address: address).events()
        _ = try await events.next()
        await group.triggerGracefulShutdown()
        _ = await events.connection.rest()
        try await ended
    }

    @Test func cancellingTheInspectorClosesItsStreams() async throws {
        let connection = try await withInspector { served async throws in
            let events = try await served.events()
            _ = try await events.next()
            return events.connection
        }
        _ = await connection.rest()
    }
}

/// Posting from the page.
@Suite(.hangLimit)
struct PostingTests {
    private struct Sale: Codable, Sendable, Equatable {
        var dish: String
        var total: Int
    }

    private struct Secret: Codable, Sendable { var text: String }

    private let json = ["Content-Type": "application/json"]

    /// The identifier of the only channel.
    private func id(_ events: Events) async throws -> String {
        let picture = try await events.first { ($0["channels"] as? [Any])?.isEmpty == false }
        let channel = try #require((picture["channels"] as? [[String: Any]])?.first)
        return try "\(#require(channel["kind"] as? String))%20\(#require(channel["name"] as? String))"
    }

    @Test func aMessageOfATypeThatWasNamedIsPosted() async throws {
        let board = Switchboard()
        let sold = board.channelForTests("shop.sold", of: Sale.self)
        var heard = sold.messages().makeAsyncIterator()
        try await withInspector(board, posting: [Sale.self]) { served async throws in
            let events = try await served.events()
            let reply = try await served.response(
                "POST /messages?id=\(id(events))",
                json,
                body: #"{"dish": "soup", "total": 4}"#
            )
            #expect(reply.status == 200)
            #expect(reply.body == #"{"reached":1}"#)
        }
        #expect(await heard.next() == Sale(dish: "soup", total: 4))
    }

    @Test func nothingIsPostedByDefault() async throws {
        let board = Switchboard()
        let token = board.channelForTests("shop.secret", of: Secret.self).listen { _ in Issue.record("heard") }
        try await withInspector(board, posting: [Sale.self]) { served async throws in
            let events = try await served.events()
            let reply = try await served.response("POST /messages?id=\(id(events))", json, body: #"{"text": "a"}"#)
            #expect(reply.status == 403)
        }
        withExtendedLifetime(token) {}
    }

    @Test(arguments: [
        ("{", 400, "not valid JSON"), (#"{"dish": "soup"}"#, 400, "\"total\" is missing"),
        (#"{"dish": "soup", "total": "4"}"#, 400, "Int expected, at .total"),
    ])
    func whatCannotBeDecodedIsRefusedWithTheReason(body: String, status: Int, reason: String) async throws {
        let board = Switchboard()
        let token = board.channelForTests("shop.sold", of: Sale.self).listen { _ in Issue.record("heard") }
        try await withInspector(board, posting: [Sale.self]) { served async throws in
            let events = try await served.events()
            let reply = try await served.response("POST /messages?id=\(id(events))", json, body: body)
            #expect(reply.status == status)
            #expect(reply.body.contains(reason))
        }
        withExtendedLifetime(token) {}
    }

    /// What a form of another site can send.
    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", nil])
    func onlyJSONIsTaken(type: String?) async throws {
        try await withInspector { served async throws in
            let fields = type.map { ["Content-Type": $0] } ?? [:]
            #expect(try await served.response("POST /messages?id=1", fields, body: "{}").status == 415)
            #expect(try await served.response("POST /tracing?mode=on", fields, body: "{}").status == 415)
        }
    }
}

extension Switchboard {
    /// A channel that a test holds.
    fileprivate func channelForTests<Message: Sendable>(_ name: String, of type: Message.Type)
        -> Channels.Channel<Message>
    {
        // The names in this file are valid and each of one type.
        try! channel(name, of: type)
    }
}
#endif
