import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// What comes in from outside may be anything.
@Suite(.hangLimit)
struct RefusalTests {
    private let broker = InMemoryBroker()

    private static let hostileNames = [
        "x 0\r\n\r\nPUB admin", "x\nPUB y 0", "x y", "", ".", "x.", ".x", "x..y", "x\0y", "x\u{2028}y", "shop.*",
        "shop.>", ">",
        String(repeating: "a", count: 1_025),
    ]

    @Test(arguments: hostileNames)
    func aNameThatWouldInjectACommandIsRefused(name: String) {
        #expect { try TransportMessage(subject: name, body: []) } throws: { error in
            let error = error as? BridgeError
            // The text of the error cannot break a line of a log either.
            return error?.code == .invalidName && !(error?.description.contains("\n") ?? true)
        }
        #expect(throws: ChannelError.self) { try ChannelName<Sale>(validating: name) }
    }

    @Test(arguments: ["", "a b", "a:b", "a\r\nb", "Ä", "a\u{7F}"])
    func aHeaderNameThatWouldInjectIsRefused(name: String) {
        var headers = TransportHeaders()
        #expect { try headers.set("x", for: name) } throws: { ($0 as? BridgeError)?.code == .invalidHeader }
        #expect(headers.isEmpty)
    }

    @Test(arguments: ["a\r\nb: c", "a\nb", "a\0", "\u{7F}"])
    func aHeaderValueThatWouldInjectIsRefused(value: String) {
        var headers = TransportHeaders()
        #expect { try headers.set(value, for: "x") } throws: { ($0 as? BridgeError)?.code == .invalidHeader }
        #expect(throws: BridgeError.self) { try TraceContext(traceparent: value) }
        #expect(headers.isEmpty)
    }

    @Test func aBridgeNameCannotInjectAHeader() async throws {
        let till = await MiniProcess("till\r\nx: y", InMemoryTransport(broker), [.outgoing(.sold)])
        let listener = try await connectedTransport(broker)
        let heard = Recorder<TransportHeaders>()
        try await listener.subscribe(to: "shop.sold", durableName: nil) { heard.record($0.message.headers) }
        till.board[.sold].post(Sale(total: 1))
        let source = await heard.first(1).first?["ce-source"]
        #expect(source?.hasPrefix("channels/till%0D%0Ax:%20y/") == true)
        try await till.stop()
    }

    private static let malformed: [(TransportMessage, BridgeError.Code)] = {
        var version = try! TransportMessage.event("{}", to: "shop.sold")
        try! version.headers.set("2.0", for: "ce-specversion")
        var encoded = try! TransportMessage.event("{}", to: "shop.sold")
        try! encoded.headers.set("%FF%FE", for: "ce-source")
        var anonymous = try! TransportMessage.event(#"{"total":1}"#, to: "shop.sold")
        anonymous.headers.remove("ce-id")
        var sourceless = try! TransportMessage.event(#"{"total":1}"#, to: "shop.sold")
        try! sourceless.headers.set("", for: "ce-source")
        var bare = try! TransportMessage.event(#"{"specversion":"1.0","id":"1","data":{"total":1}}"#, to: "shop.sold")
        try! bare.headers.set("application/cloudevents+json", for: "content-type")
        var structured = try! TransportMessage.event("{]", to: "shop.sold")
        try! structured.headers.set("application/cloudevents+json", for: "content-type")
        var deep = try! TransportMessage.event("", to: "shop.sold")
        deep.body = Array(repeating: UInt8(ascii: "["), count: 100_000)
        return [
            (try! .event("", to: "shop.sold"), .undecodable),
            (try! .event("no JSON", to: "shop.sold"), .undecodable),
            (try! .event(#"{"total":"many"}"#, to: "shop.sold"), .undecodable),
            (try! .event(#"{"total":99999999999999999999999}"#, to: "shop.sold"), .undecodable),
            (try! .event("{\"total\":\u{0}}", to: "shop.sold"), .undecodable),
            (deep, .undecodable),
            (try! .event(#"{"total":1}"#, to: "shop.sold", type: "Order"), .unknownType),
            (version, .invalidEnvelope),
            (encoded, .invalidEnvelope),
            (structured, .invalidEnvelope), (anonymous, .invalidEnvelope), (sourceless, .invalidEnvelope),
            (bare, .invalidEnvelope),
        ]
    }()

    @Test(arguments: malformed.indices, [false, true])
    func whatCannotBeUnderstoodIsADeadLetter(index: Int, durable: Bool) async throws {
        let (message, code) = Self.malformed[index]
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: durable)])
        let (heard, token) = kitchen.recorder(.sold)
        try await sender.publish(message, durable: durable)
        try await sender.publish(try .event(#"{"total":7}"#, to: "shop.sold", id: "good"), durable: durable)
        #expect(await heard.first(1) == [Sale(total: 7)])
        let letter = await kitchen.deadLetters.first(1).first
        #expect(letter?.error.code == code)
        #expect(letter?.error.subject == "shop.sold")
        #expect(letter?.message == message)
        // One when it comes, and one when it is given up; what is not an event is given up at once.
        let faults = kitchen.faults.all.filter { $0.code == .bridgeFailed && $0.channelName == "shop.sold" }
        #expect(faults.count == (durable && code != .invalidEnvelope ? 2 : 1))
        try await kitchen.stop()
        // It was terminated: nobody gets it again.
        let again = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, durable: durable)])
        try await again.stop()
        #expect(kitchen.bridge.statistics.refused == 1 && kitchen.bridge.statistics.received == 1)
        #expect(again.deadLetters.count == 0)
        withExtendedLifetime(token) {}
    }

    @Test func handlersOfFaultsAndEventsMayUseTheBridge() async throws {
        let sender = try await connectedTransport(broker)
        let reference = BridgeReference()
        let told = Recorder<Int>()
        let board = Switchboard(onFault: { _ in told.record(reference.bridge?.statistics.refused ?? -1) })
        let transport = InMemoryTransport(broker)
        let tokens = Recorder<ListenerToken>()
        let kitchen = await MiniProcess("kitchen", transport, [.both(.sold)], board: board) { board, bridge in
            reference.bridge = bridge
            tokens.record(
                bridge.events.listen { _ in
                    told.record(reference.bridge?.statistics.sent ?? -1)
                    board[.sold].post(Sale(total: 1))
                }
            )
        }
        try await sender.publish(try .event("no JSON", to: "shop.sold"), durable: false)
        _ = await kitchen.deadLetters.first(1)
        transport.breakConnection()
        transport.restoreConnection()
        // Connected, refused, disconnected, reconnected.
        #expect(await told.first(4).count == 4)
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.sent == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test func aNameInUseWithAnotherTypeIsADeadLetter() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(matching: "shop.*", of: Sale.self)]
        )
        let channel = kitchen.board.channel(ChannelName<Order>("shop.menu"))
        try await sender.publish(try .event(#"{"total":1}"#, to: "shop.menu"), durable: false)
        #expect(await kitchen.deadLetters.first(1).first?.error.code == .unknownType)
        try await kitchen.stop()
        withExtendedLifetime(channel) {}
    }

    @Test func anUnknownStateIsADeadLetterAndChangesNothing() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(state: .lastSale, initial: Sale(total: 5))]
        )
        _ = try await sender.store(try .event("garbage", to: "shop.lastSale"))
        #expect(await kitchen.deadLetters.first(1).first?.error.code == .undecodable)
        #expect(kitchen.board.state(.lastSale, initial: Sale(total: 0)).value == Sale(total: 5))
        try await kitchen.stop()
    }

    /// What the transport drops, the bridge never sees.
    @Test func messagesDroppedByTheTransportAreCountedAndAFault() async throws {
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var slow = AlteredTransport(broker)
        slow.hears = { events.record($0) }
        let kitchen = await MiniProcess("kitchen", slow, [.incoming(.sold)])
        events.all.first?(.slowConsumer(pattern: "shop.sold", dropped: 5))
        let fault = await kitchen.faults.first(1).first
        #expect(fault.map { "\($0)".contains("bufferFull") && "\($0)".contains("shop.sold") } == true)
        #expect(kitchen.bridge.statistics.overflowed == 5)
        try await kitchen.stop()
    }

    @Test func aSlowConsumerIsAFaultAndAnEventWithTheCount() async throws {
        let sender = try await connectedTransport(broker)
        let gate = Gate()
        let events = Recorder<Int>()
        let tokens = Recorder<ListenerToken>()
        let configuration = BridgeConfiguration.quick.with { $0.buffer.messages = 24 }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold)],
            configuration: configuration,
            holdingDeadLetters: gate
        ) { _, bridge in
            tokens.record(
                bridge.events.listen { event in
                    if case .slowConsumer(let pattern, let dropped) = event, pattern == "shop.sold" {
                        events.record(dropped)
                    }
                }
            )
        }
        let (heard, token) = kitchen.recorder(.sold)
        try await sender.publish(try .event("holds the route", to: "shop.sold"), durable: false)
        _ = await kitchen.deadLetters.first(1)
        for total in 0..<10 {
            try await sender.publish(try .event(#"{"total":\#(total)}"#, to: "shop.sold"), durable: false)
        }
        #expect(kitchen.bridge.statistics.overflowed == 7)
        #expect(kitchen.bridge.statistics.waitingToDeliver == 4)
        gate.open()
        #expect(await heard.first(3).map(\.total) == [0, 1, 2])
        #expect(await events.first(1) == [7])
        try await kitchen.stop()
        #expect(kitchen.faults.all.filter { $0.code == .bridgeFailed && "\($0)".contains("bufferFull") }.count == 7)
        let statistics = kitchen.bridge.statistics
        #expect(statistics.received == 3 && statistics.refused == 1 && statistics.waitingToDeliver == 0)
        withExtendedLifetime((token, tokens)) {}
    }

    @Test func theIncomingBufferIsBoundedInBytesToo() async throws {
        let sender = try await connectedTransport(broker)
        let gate = Gate()
        // A message has between 100 and 400 bytes with its headers: one waits, and a second has no room.
        let configuration = BridgeConfiguration.quick.with { $0.buffer.bytes = 1_600 }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold)],
            configuration: configuration,
            holdingDeadLetters: gate
        )
        let (heard, token) = kitchen.recorder(.sold)
        try await sender.publish(try .event("holds the route", to: "shop.sold"), durable: false)
        _ = await kitchen.deadLetters.first(1)
        for total in 0..<3 {
            let json = #"{"total":\#(total)}"# + String(repeating: " ", count: 20)
            try await sender.publish(try .event(json, to: "shop.sold"), durable: false)
        }
        #expect(kitchen.bridge.statistics.overflowed == 2)
        gate.open()
        #expect(await heard.first(1) == [Sale(total: 0)])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }
}
