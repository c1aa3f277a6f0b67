import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Which routes deliver the dead letters that a broker keeps.
@Suite(.hangLimit)
struct LetterRouteTests {
    private let broker = InMemoryBroker()
    private let configuration = BridgeConfiguration.quick.with { $0.failureLimit = 2 }

    /// A wildcard also matches the names of letters.
    @Test(
        arguments: [
            (">", "dead", "x.shop.sold"), ("*.shop.sold", "dead", "x.shop.sold"), ("*.*.sold", "dead", "x.shop.sold"),
            ("shop.>", "shop.dead", "shop.x.shop.sold"), ("shop.*.shop.sold", "shop.dead", "shop.x.shop.sold"),
        ],
        [false, true]
    )
    func letterIsNotAMessageForAWildcard(_ names: (pattern: String, prefix: String, other: String), durable: Bool)
        async throws
    {
        let wire = try await connectedTransport(broker)
        let pattern = try ChannelPattern(validating: names.pattern)
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, durable: true), .incoming(matching: pattern, of: Sale.self, durable: durable)],
            configuration: configuration.with { $0.deadLetters = names.prefix }
        )
        let heard = Recorder<String>()
        let token = kitchen.board[matching: ">"].listen { post in
            heard.record(post.channelName ?? "")
            if post.channelName == "shop.sold" { throw Trouble() }
        }
        let kept = Recorder<String>()
        try await wire.subscribe(to: ChannelPattern(validating: "\(names.prefix).>")) {
            kept.record($0.message.subject)
        }
        try await wire.publish(.event(#"{"total":1}"#, to: "shop.sold"), durable: true)
        #expect(await kept.first(1) == ["\(names.prefix).shop.sold"])
        // It reaches the route after the letter.
        try await wire.publish(.event(#"{"total":2}"#, to: names.other, id: "2"), durable: true)
        #expect(await heard.wait { $0.last == names.other } == ["shop.sold", "shop.sold", names.other])
        try await kitchen.stop()
        #expect(kitchen.deadLetters.count == 1)
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime(token) {}
    }

    /// Also if a route for a wildcard comes first.
    @Test(arguments: ["dead.>", "dead.shop.*", "dead.shop.sold"])
    func letterIsDeliveredByARouteThatNamesItsPrefix(_ text: String) async throws {
        let wire = try await connectedTransport(broker)
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [
                .incoming(matching: ">", of: Sale.self, durable: true),
                .incoming(matching: try ChannelPattern(validating: text), of: Sale.self, durable: true),
            ],
            configuration: configuration
        )
        let heard = Recorder<String>()
        let token = kitchen.board[matching: ">"].listen { post in
            heard.record(post.channelName ?? "")
            if post.channelName == "shop.sold" { throw Trouble() }
        }
        try await wire.publish(.event(#"{"total":1}"#, to: "shop.sold"), durable: true)
        #expect(await heard.first(3) == ["shop.sold", "shop.sold", "dead.shop.sold"])
        try await kitchen.stop()
        #expect(heard.count == 3)
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime(token) {}
    }

    /// A name of the application may begin like those of letters.
    @Test func letterOfAMessageWhoseNameBeginsLikeThatOfALetterIsKept() async throws {
        let wire = try await connectedTransport(broker)
        let kept = Recorder<TransportMessage>()
        try await wire.subscribe(to: "dead.dead.>") { kept.record($0.message) }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(matching: "dead.*", of: Sale.self, durable: true)],
            configuration: configuration
        )
        try await wire.publish(.event("no sale", to: "dead.stock", id: "7"), durable: true)
        #expect(await kept.first(1).first?.subject == "dead.dead.stock")
        try await kitchen.stop()
        try await wire.close(timeout: .seconds(1))
    }
}
