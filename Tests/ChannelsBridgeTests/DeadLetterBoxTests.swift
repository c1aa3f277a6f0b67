import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Where letters are put back, and what becomes of those that cannot be.
@Suite(.hangLimit)
struct DeadLetterBoxTests {
    private let broker = InMemoryBroker()

    private func letter(_ subject: String, from origin: String, _ text: String = "") throws -> TransportMessage {
        var headers: TransportHeaders = ["dead-letter-name": "kitchen"]
        try headers.set(origin, for: "dead-letter-subject")
        return try TransportMessage(subject: subject, headers: headers, body: Array(text.utf8))
    }

    /// The only message that is published when the box is emptied.
    private func whatIsPutBack(_ letter: TransportMessage, from box: DeadLetterBox) async throws -> TransportMessage? {
        let wire = try await connectedTransport(broker)
        try await wire.publish(letter, durable: true)
        let published = Recorder<TransportMessage>()
        try await wire.subscribe(to: ">") { published.record($0.message) }
        let transport = InMemoryTransport(broker)
        #expect(try await box.putBack(over: transport, atMost: 1) == 1)
        try await wire.close(timeout: .seconds(1))
        #expect(published.count == 1)
        return published.all.first
    }

    private static let claims = [
        "bank.transfer", "$JS.API.STREAM.PURGE.SHOP", "bank.shop.sold", "$JS.shop.sold", "sold", "no name", "shop.sold",
    ]

    /// Whoever may publish a letter may write anything into its header.
    @Test(arguments: claims) func letterGoesBackToTheNameInItsOwnSubject(_ header: String) async throws {
        let forged = try letter("dead.shop.sold", from: header, "1")
        let message = try #require(try await whatIsPutBack(forged, from: DeadLetterBox("dead")))
        #expect(message.subject == "shop.sold" && message.body == Array("1".utf8))
        #expect(message.headers["dead-letter-subject"] == nil && message.headers["dead-letter-name"] == "kitchen")
    }

    /// The tool is given the prefix with the name of the letters.
    @Test(arguments: [
        ("dead", "staging", "shop.sold"), ("dead", "staging", "production.shop.sold"),
        ("staging.dead", "", "staging.shop.sold"),
    ])
    func letterStaysBehindThePrefixThatItCameFrom(_ name: String, _ prefix: String, _ header: String) async throws {
        let letter = try letter("staging.dead.shop.sold", from: header)
        let box = DeadLetterBox(name, configuration: BridgeConfiguration(subjectPrefix: prefix))
        #expect(try await whatIsPutBack(letter, from: box)?.subject == "staging.shop.sold")
    }

    /// The process is ended between the two.
    @Test func letterPutBackAgainBeforeItWasRemovedIsStoredOnce() async throws {
        let wire = try await connectedTransport(broker)
        var letter = try letter("dead.shop.sold", from: "shop.sold")
        try letter.headers.set("7", for: TransportHeaders.id)
        try await wire.publish(letter, durable: true)
        let stored = Recorder<InboundMessage>()
        try await wire.subscribe(to: "shop.sold", durableName: "kitchen") { stored.record($0) }
        var killed = AlteredTransport(broker)
        killed.removes = { false }
        for _ in 0..<2 {
            #expect(try await DeadLetterBox("dead").putBack(over: AlteredStore(altered: killed), atMost: 1) == 1)
        }
        #expect(stored.count == 1)
        try await wire.close(timeout: .seconds(1))
    }

    /// A name of the application may begin like those of letters.
    @Test func messageThatIsNoLetterIsNeitherListedNorPutBack() async throws {
        let wire = try await connectedTransport(broker)
        let store = InMemoryTransport(broker)
        try await wire.publish(TransportMessage(subject: "dead.stock", body: []), durable: true)
        try await wire.publish(letter("dead.shop.sold", from: "shop.sold"), durable: true)
        let box = DeadLetterBox("dead")
        let letters = try await box.letters(over: store)
        #expect(letters.map(\.message.subject) == ["shop.sold"])
        let published = Recorder<String>()
        try await wire.subscribe(to: ">") { published.record($0.message.subject) }
        await #expect { _ = try await box.putBack("1", over: store) } throws: { ($0 as? BridgeError)?.code == .refused }
        #expect(try await box.putBack(over: store) == 1)
        #expect(published.all == ["shop.sold"])
        try await wire.close(timeout: .seconds(1))
    }

    @Test func aBrokerInMemoryWithAsManyLettersAsItKeepsRefusesMore() async throws {
        let wire = try await connectedTransport(InMemoryBroker(limits: .init(keptMessages: 2)))
        for _ in 0..<2 { try await wire.publish(letter("dead.shop.sold", from: "shop.sold"), durable: true) }
        let error = await #expect(throws: BridgeError.self) {
            try await wire.publish(letter("dead.shop.sold", from: "shop.sold"), durable: true)
        }
        #expect(error?.code == .bufferFull)
        try await wire.remove(1, on: "dead.>")
        try await wire.publish(letter("dead.shop.sold", from: "shop.sold"), durable: true)
        try await wire.close(timeout: .seconds(1))
    }

    @Test func aTransportThatListsNothingSaysSo() async throws {
        let error = await #expect(throws: BridgeError.self) {
            try await DeadLetterBox("dead").letters(over: AlteredTransport(broker))
        }
        #expect(error?.code == .unsupported)
    }

    @Test func letterThatCannotBePutBackStaysAndTheOthersReturn() async throws {
        let wire = try await connectedTransport(broker)
        let isMended = Gate()
        var refusing = AlteredTransport(broker)
        refusing.publishes = { message in
            if message.subject == "shop.closed", !isMended.isOpen {
                throw BridgeError(.unsupported, detail: "no stream")
            }
            return message
        }
        let published = Recorder<String>()
        try await wire.subscribe(to: ">") {
            if !$0.message.subject.hasPrefix("dead.") { published.record($0.message.subject) }
        }
        for subject in ["shop.closed", "shop.a", "$JS.API.STREAM.PURGE.SHOP", "shop.b"] {
            try await wire.publish(letter("dead.\(subject)", from: subject), durable: true)
        }
        let box = DeadLetterBox("dead")
        for _ in 0..<2 {
            let error = await #expect(throws: BridgeError.self) {
                try await box.putBack(over: AlteredStore(altered: refusing))
            }
            #expect(error?.code == .unsupported && error?.subject == "shop.closed")
            #expect(published.all == ["shop.a", "shop.b"])
        }
        isMended.open()
        let error = await #expect(throws: BridgeError.self) {
            try await box.putBack(over: AlteredStore(altered: refusing))
        }
        #expect(error?.code == .invalidName && error?.subject == "$JS.API.STREAM.PURGE.SHOP")
        #expect(published.all == ["shop.a", "shop.b", "shop.closed"])
        try await wire.close(timeout: .seconds(1))
    }

    /// The next letter would wait for the broker as long.
    @Test(arguments: [BridgeError.Code.notConnected, .notAcknowledged])
    func brokerThatDoesNotAnswerEndsPuttingBack(_ code: BridgeError.Code) async throws {
        let wire = try await connectedTransport(broker)
        for number in 0..<3 {
            try await wire.publish(letter("dead.shop.sold", from: "shop.sold", "\(number)"), durable: true)
        }
        let tries = Recorder<String>()
        var silent = AlteredTransport(broker)
        silent.publishes = { message in
            tries.record(message.subject)
            throw BridgeError(code, subject: message.subject)
        }
        let transport = silent
        let error = await #expect(throws: BridgeError.self) {
            try await DeadLetterBox("dead").putBack(over: AlteredStore(altered: transport))
        }
        #expect(error?.code == code && tries.count == 1)
        try await wire.close(timeout: .seconds(1))
    }
}
