import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Which routes deliver the dead letters that a broker keeps.
@Suite(.hangLimit)
struct LetterRouteTests {
    private let broker = InMemoryBroker()
    private let configuration = BridgeConfiguration.quick.with { $0.failureLimit = 2 }

    private static let wildcards = [
        (">", "dead", "x.shop.sold"), ("*.shop.sold", "dead", "x.shop.sold"), ("*.*.sold", "dead", "x.shop.sold"),
        ("shop.>", "shop.dead", "shop.x.shop.sold"), ("shop.*.shop.sold", "shop.dead", "shop.x.shop.sold"),
    ]

    /// A wildcard also matches the names of letters. `other` is a name that only the wildcard matches.
    @Test(arguments: wildcards, [false, true])
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

    /// A letter is for whoever names its prefix, and a message that was put back only for the name that failed.
    @Test func displaysDoNotShowAgainWhatIsPutBackAndAlarmsHearLetters() async throws {
        let (wire, isMended) = (try await connectedTransport(broker), Gate())
        let display = await MiniProcess("display", InMemoryTransport(broker), [.incoming(.sold)])
        let (shown, shownToken) = display.recorder(.sold)
        let letters = BridgeRoute.incoming(matching: "dead.>", of: Sale.self, durable: true)
        let office = await MiniProcess("office", InMemoryTransport(broker), [letters])
        let alarms = Recorder<String>()
        let officeToken = office.board[matching: "dead.>"].listen { alarms.record($0.channelName ?? "") }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, durable: true)],
            configuration: configuration
        )
        let cooked = Recorder<Int>()
        let token = kitchen.board[.sold].listen { (sale: Sale) throws in
            if !isMended.isOpen { throw Trouble() }
            cooked.record(sale.total)
        }
        try await wire.publish(.event(#"{"total":1}"#, to: "shop.sold"), durable: true)
        #expect(await alarms.first(1) == ["dead.shop.sold"])
        _ = await kitchen.deadLetters.first(1)
        isMended.open()
        #expect(try await DeadLetterBox("dead").putBack(over: InMemoryTransport(broker)) == 1)
        _ = await cooked.first(1)
        try await wire.publish(.event(#"{"total":2}"#, to: "shop.sold", id: "2"), durable: true)
        #expect(await shown.wait { $0.last?.total == 2 }.map(\.total) == [1, 2])
        #expect(await cooked.first(2) == [1, 2])
        for process in [display, office, kitchen] { try await process.stop() }
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime((token, shownToken, officeToken)) {}
    }
}
