import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// An order as the first version of a program has it, and as later ones do.
private struct First: Codable, Hashable, Sendable {
    var dish: String
}

private struct WithAddedField: Codable, Hashable, Sendable {
    var dish: String
    var table: Int
}

private struct WithOptionalField: Codable, Hashable, Sendable {
    var dish: String
    var table: Int?
}

private struct WithRenamedField: Codable, Hashable, Sendable {
    var meal: String
}

private struct WithRenamedProperty: Codable, Hashable, Sendable {
    var meal: String

    private enum CodingKeys: String, CodingKey {
        case meal = "dish"
    }
}

/// What happens when a message was encoded by another version of the program.
@Suite(.hangLimit)
struct SchemaEvolutionTests {
    private let broker = InMemoryBroker()

    /// What a receiver makes of a message of another type.
    private func received<Sent: Codable & Sendable, Received: Codable & Sendable>(
        _ sent: Sent,
        as: Received.Type
    ) async throws -> Result<Received, BridgeError> {
        let receiver = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [
                .incoming(ChannelName<Received>("ordered"), type: "Order")
            ]
        )
        let sender = await MiniProcess(
            "waiter",
            InMemoryTransport(broker),
            [
                .outgoing(ChannelName<Sent>("ordered"), type: "Order")
            ]
        )
        let results = Recorder<Result<Received, BridgeError>>()
        let token = receiver.board[ChannelName<Received>("ordered")].listen { results.record(.success($0)) }
        let letters = receiver.deadLetters
        sender.board[ChannelName<Sent>("ordered")].post(sent)
        let refusing = Task { if let letter = await letters.first(1).first { results.record(.failure(letter.error)) } }
        let result = try #require(await results.first(1).first)
        refusing.cancel()
        try await sender.stop()
        try await receiver.stop()
        withExtendedLifetime(token) {}
        return result
    }

    @Test func addedFieldIsIgnoredByOlderReceivers() async throws {
        let order = try await received(WithAddedField(dish: "soup", table: 3), as: First.self).get()
        #expect(order == First(dish: "soup"))
    }

    @Test func missingFieldIsNilIfItIsOptionalAndUndecodableOtherwise() async throws {
        let order = try await received(First(dish: "soup"), as: WithOptionalField.self).get()
        #expect(order == WithOptionalField(dish: "soup", table: nil))
        let error = await #expect(throws: BridgeError.self) {
            try await received(First(dish: "soup"), as: WithAddedField.self).get()
        }
        #expect(
            error?.code == .undecodable && error?.description.contains("table") == true,
            "\(String(describing: error))"
        )
    }

    @Test func renamedFieldIsUndecodableUnlessItsKeyStays() async throws {
        let error = await #expect(throws: BridgeError.self) {
            try await received(First(dish: "soup"), as: WithRenamedField.self).get()
        }
        #expect(error?.code == .undecodable && error?.description.contains("meal") == true)
        let order = try await received(First(dish: "soup"), as: WithRenamedProperty.self).get()
        #expect(order == WithRenamedProperty(meal: "soup"))
    }

    @Test func durableMessageThatCannotBeDecodedIsLeftToANewerProcess() async throws {
        let clock = ManualClock()
        let configuration = BridgeConfiguration.quick.with {
            $0.backoff = Backoff(first: .milliseconds(1), limit: .milliseconds(1))
            $0.clock = clock
        }
        let sender = try await connectedTransport(broker)
        let older = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [
                .incoming(ChannelName<First>("ordered"), durable: true, type: "Order").retryingUndecodable(
                    atMost: 1_000_000
                )
            ],
            configuration: configuration
        )
        try await sender.publish(try .event(#"{"meal":"soup"}"#, to: "ordered", type: "Order"), durable: true)
        // It is known at once, and nothing is given up.
        let fault = await older.faults.first(1).first
        #expect(fault?.code == .bridgeFailed)
        try await older.stop()
        #expect(older.deadLetters.count == 0 && older.bridge.statistics.refused == 0)
        #expect(older.bridge.statistics.retried > 0)

        let heard = Recorder<WithRenamedField>()
        let tokens = Recorder<ListenerToken>()
        let newer = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(ChannelName<WithRenamedField>("ordered"), durable: true, type: "Order")],
            configuration: configuration
        ) { board, _ in
            tokens.record(board[ChannelName<WithRenamedField>("ordered")].listen { heard.record($0) })
        }
        #expect(await heard.first(1) == [WithRenamedField(meal: "soup")])
        try await newer.stop()
        withExtendedLifetime(tokens) {}
    }

    /// A roll-out that takes a few retries must not use up those of the listeners.
    @Test func retriesOfDecodingDoNotCountAsFailuresOfListeners() async throws {
        let decodings = Recorder<Int>()
        let codec = RecoveringCodec(failures: 3, decodings: decodings)
        let calls = Recorder<Sale>()
        let tokens = Recorder<ListenerToken>()
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, durable: true).retryingUndecodable(atMost: 3).encoded(with: codec)],
            configuration: .quick.with { $0.failureLimit = 3 }
        ) { board, _ in
            tokens.record(
                board[.sold].listen { sale in
                    calls.record(sale)
                    if calls.count < 3 { throw CancellationError() }
                }
            )
        }
        let sender = try await connectedTransport(broker)
        try await sender.publish(try .event(#"{"total":1}"#, to: "shop.sold"), durable: true)
        _ = await calls.first(3)
        try await kitchen.stop()
        #expect(kitchen.deadLetters.count == 0 && kitchen.bridge.statistics.received == 1)
        #expect(kitchen.bridge.statistics.retried == 5)
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: [0, 1, 7]) func durableMessageIsADeadLetterAfterSoManyRetries(_ retries: Int) async throws {
        let sender = try await connectedTransport(broker)
        let route = BridgeRoute.incoming(.sold, durable: true).retryingUndecodable(atMost: retries)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [route])
        try await sender.publish(try .event(#"{"sum":1}"#, to: "shop.sold"), durable: true)
        try await sender.publish(try .event(#"{"total":1}"#, to: "shop.sold", type: "Older", id: "2"), durable: true)
        let letters = await kitchen.deadLetters.first(2)
        #expect(Set(letters.map(\.error.code)) == [.undecodable, .unknownType])
        #expect(letters.map(\.deliveryCount) == [retries + 1, retries + 1])
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.retried == 2 * retries && kitchen.bridge.statistics.refused == 2)
    }

    /// However many processes there are: the broker counts.
    @Test func threeTriesOfAllProcessesTogetherMakeADeadLetter() async throws {
        let sender = try await connectedTransport(broker)
        let letters = Recorder<InboundMessage>()
        try await sender.subscribe(to: "dead.>", durableName: "box") { letters.record($0) }
        let configuration = BridgeConfiguration.quick.with { $0.deadLetters = "dead" }
        var processes: [MiniProcess] = []
        for _ in 0..<2 {
            let (transport, route) = (InMemoryTransport(broker), BridgeRoute.incoming(.sold, durable: true))
            processes.append(await MiniProcess("kitchen", transport, [route], configuration: configuration))
        }
        for number in 0..<20 {
            try await sender.publish(try .event("no JSON", to: "shop.sold", id: "\(number)"), durable: true)
        }
        _ = await letters.first(20)
        for process in processes { try await process.stop() }
        #expect(processes.reduce(0) { $0 + $1.bridge.statistics.refused } == 20)
        #expect(processes.reduce(0) { $0 + $1.bridge.statistics.retried } == 40)
    }

    /// While an older process of its name runs, which cannot decode what comes.
    @Test func newerProcessOfAGroupHasItsTurnWithinTheTries() async throws {
        let sender = try await connectedTransport(broker)
        let renamed = ChannelName<WithRenamedField>("ordered")
        let older = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(ChannelName<First>("ordered"), durable: true, type: "Order")]
        )
        let newer = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(renamed, durable: true, type: "Order")]
        )
        let heard = Recorder<WithRenamedField>()
        let token = newer.board[renamed].listen { heard.record($0) }
        for number in 0..<20 {
            let order = try TransportMessage.event(#"{"meal":"soup"}"#, to: "ordered", type: "Order", id: "\(number)")
            try await sender.publish(order, durable: true)
            // The next delivery is to the other process.
            #expect(await heard.first(number + 1).count == number + 1)
        }
        for process in [older, newer] { try await process.stop() }
        #expect(older.deadLetters.count == 0 && newer.deadLetters.count == 0)
        withExtendedLifetime(token) {}
    }

    // MARK: Codecs

    /// JSON that cannot be decoded at first.
    private struct RecoveringCodec: Codec {
        struct NotYet: Error {}

        let failures: Int
        let decodings: Recorder<Int>
        var contentType: String { JSONCodec().contentType }

        func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] { try JSONCodec().encode(message) }

        func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
            decodings.record(1)
            if decodings.count <= failures { throw NotYet() }
            return try JSONCodec().decode(type, from: bytes)
        }
    }

    /// A number as its digits, backwards.
    private struct BackwardsCodec: Codec {
        struct NotANumber: Error {}

        let contentType = "text/x-backwards"

        func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] {
            Array(String("\(message)".reversed()).utf8)
        }

        func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
            guard let number = Int(String(String(decoding: bytes, as: UTF8.self).reversed())),
                let message = number as? Message
            else { throw NotANumber() }
            return message
        }
    }

    @Test func eachRouteMayHaveACodecOfItsOwn() async throws {
        let name = ChannelName<Int>("number")
        let states = StateName<Int>("numbers.last")
        let requests = RequestName<Int, Int>("numbers.twice")
        let codec = BackwardsCodec()
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [
                .outgoing(name, durable: true).encoded(with: codec), .outgoing(.sold),
                .both(state: states, initial: 12).encoded(with: codec), .asking(requests).encoded(with: codec),
            ]
        )
        let tokens = Recorder<ListenerToken>()
        let numbers = Recorder<Int>()
        let sales = Recorder<Sale>()
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [
                .incoming(name, durable: true).encoded(with: codec), .incoming(.sold),
                .incoming(state: states, initial: 0).encoded(with: codec), .answering(requests).encoded(with: codec),
            ]
        ) { board, _ in
            tokens.record(board[name].listen { numbers.record($0) })
            tokens.record(board[.sold].listen { sales.record($0) })
            tokens.record(board.requests(requests).respond { $0 * 2 })
        }
        let listener = try await connectedTransport(broker)
        let packed = Recorder<TransportMessage>()
        try await listener.subscribe(to: "number") { packed.record($0.message) }
        till.board[name].post(123)
        till.board[.sold].post(Sale(total: 4))
        #expect(await numbers.first(1) == [123])
        #expect(await sales.first(1) == [Sale(total: 4)])
        #expect(try await till.board.requests(requests).ask(21) == 42)
        #expect(await kitchen.board.state(states, initial: 0).first { $0 == 12 } == 12)
        let message = await packed.first(1).first
        #expect(message.map { String(decoding: $0.body, as: UTF8.self) } == "321")
        #expect(message?.headers["content-type"] == "text/x-backwards")
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(tokens) {}
    }
}
