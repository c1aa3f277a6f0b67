import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

@testable import ChannelsBridge

/// Durable messages on their way to the broker: in order, several at a time, and as long as it takes.
@Suite(.hangLimit)
struct PublishingTests {
    private let broker = InMemoryBroker()

    private func totals(_ attempts: some Sequence<Attempts.Attempt>) -> [String] { attempts.map(\.total) }

    private static let routes: [BridgeRoute] = [.outgoing(.number, durable: true)]

    @Test func severalArePublishedBeforeTheFirstIsAcknowledged() async throws {
        let transport = Attempts()
        let configuration = BridgeConfiguration.quick.with { $0.unacknowledgedLimit = 3 }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        for number in 0..<5 { till.board[.number].post(number) }
        #expect(totals(await transport.attempts.first(3)) == ["0", "1", "2"])
        let reports = Recorder<DeliveryReport>()
        let waiting = Task { reports.record(await till.board[.number].postAndWait(5)) }
        transport.attempts.all[1].end(nil)
        #expect(totals(await transport.attempts.first(4)) == ["0", "1", "2", "3"])
        transport.attempts.all[0].end(nil)
        for number in 2..<5 { await transport.attempts.first(number + 1)[number].end(nil) }
        let last = await transport.attempts.first(6)[5]
        #expect(reports.count == 0)
        last.end(nil)
        await waiting.value
        #expect(reports.all.first?.isComplete == true && reports.all.first?.reachedCount == 1)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 6)
    }

    /// Those behind it have been published; nothing else is until it is clear which have failed.
    @Test func whatFailedIsPublishedAgainInOrderBeforeTheOthers() async throws {
        let transport = Attempts()
        let configuration = BridgeConfiguration.quick.with { $0.unacknowledgedLimit = 4 }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        for number in 0..<6 { till.board[.number].post(number) }
        let first = await transport.attempts.first(4)
        let lost = BridgeError(.notAcknowledged)
        first[3].end(lost)
        first[1].end(lost)
        first[0].end(nil)
        #expect(transport.attempts.count == 4)
        first[2].end(nil)
        // Told twice: it counts once.
        first[1].end(nil)
        let second = await transport.attempts.first(8)[4...]
        #expect(totals(second) == ["1", "3", "4", "5"])
        #expect(second.map(\.isRepeated) == [true, true, false, false])
        #expect(second.first?.message == first[1].message)
        for attempt in second { attempt.end(nil) }
        try await till.stop()
        #expect(till.bridge.statistics.sent == 6 && till.bridge.statistics.failed == 0)
    }

    /// More attempts than ever were made before a message was given up. Those that fail together are one fault.
    @Test(arguments: [1, 5]) func nothingIsGivenUpBecauseItTakesLong(count: Int) async throws {
        let transport = Attempts()
        let till = await MiniProcess("till", transport, Self.routes, configuration: .quick)
        for number in 0..<count { till.board[.number].post(number) }
        for round in 1...40 {
            for attempt in await transport.attempts.first(round * count).suffix(count) {
                attempt.end(BridgeError(.timedOut))
            }
        }
        for attempt in await transport.attempts.first(41 * count).suffix(count) { attempt.end(nil) }
        try await till.stop()
        #expect(till.bridge.statistics.sent == count)
        #expect(till.faults.all.map(\.code) == Array(repeating: .bridgeFailed, count: 5))
    }

    @Test func whatComesLastIsDroppedWhereThereIsNoRoom() async throws {
        let transport = Attempts()
        let configuration = BridgeConfiguration.quick.with {
            $0.buffer.messages = 24
            $0.unacknowledgedLimit = 1
        }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        for number in 0..<3 { till.board[.number].post(number) }
        // However many: at once, and not when those before have ended.
        for _ in 0..<20 {
            let report = await till.board[.number].postAndWait(3)
            #expect(report.reachedCount == 1 && !report.isComplete)
            #expect((report.failures.first?.error as? BridgeError)?.code == .bufferFull)
        }
        for number in 0..<3 { await transport.attempts.first(number + 1)[number].end(nil) }
        try await till.stop()
        #expect(totals(transport.attempts.all) == ["0", "1", "2"])
        let statistics = till.bridge.statistics
        #expect(statistics.sent == 3 && statistics.dropped == 20 && statistics.failed == 0)
        #expect(till.faults.all.map(\.code) == [Fault.Code](repeating: .bridgeFailed, count: 20))
    }

    /// It is encoded before there is a broker, so that its bytes count.
    @Test func bytesAreBoundedBeforeThereIsAConnection() async throws {
        let gate = Gate()
        var waiting = AlteredTransport(broker)
        waiting.connects = { await gate.wait() }
        let configuration = BridgeConfiguration.quick.with { $0.buffer.bytes = 32_000 }
        let till = await MiniProcess(
            "till",
            waiting,
            [.outgoing(.text, durable: true)],
            configuration: configuration,
            waits: false
        )
        for _ in 0..<8 { till.board[.text].post(String(repeating: "x", count: 1_000)) }
        await till.faults.wait { $0.filter { $0.code == .bridgeFailed }.count == 5 }
        #expect(till.bridge.statistics.dropped == 5 && till.bridge.statistics.waitingToSend == 3)
        gate.open()
        _ = await till.bridge.status.first { $0.isReady }
        try await till.stop()
        #expect(till.bridge.statistics.sent == 3)
    }

    @Test func whatIsRefusedDoesNotWait() async throws {
        let transport = Attempts()
        let configuration = BridgeConfiguration.quick.with { $0.buffer.messages = 32 }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        for number in 0..<1_000 { till.board[.number].post(number) }
        let first = await transport.attempts.first(4)
        let waiting = till.board.snapshot().patterns.flatMap(\.listeners).compactMap(\.waitingCount)
        #expect((3...4).contains(waiting.reduce(0, +)))
        for attempt in first { attempt.end(nil) }
        try await till.stop()
        #expect(till.bridge.statistics.dropped == 996)
    }

    /// It would be reported as sent, and is not.
    @Test func identifierThatTheBrokerKnowsIsAnErrorAtTheFirstAttempt() async throws {
        let (attacker, transport) = (try await connectedTransport(broker), try await connectedTransport(broker))
        let message = try TransportMessage.event("1", to: "a", id: "guessed")
        try await attacker.publish(message, durable: true)
        let results = Recorder<BridgeError?>()
        await #expect(throws: BridgeError.self) {
            try await transport.publishDurably(message, isRepeated: false) { results.record($0) }
        }
        try await transport.publishDurably(message, isRepeated: true) { results.record($0) }
        #expect(results.all.map { $0?.code } == [nil])
    }

    /// As long as there is no connection, a pause may be long; when it is back, nobody should have to wait.
    @Test func connectionThatIsBackEndsThePause() async throws {
        let transport = Attempts()
        let clock = ManualClock()
        let configuration = BridgeConfiguration.quick.with {
            $0.backoff = Backoff(first: .seconds(1_000), limit: .seconds(1_000))
            $0.clock = clock
        }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        till.board[.number].post(1)
        await transport.attempts.first(1)[0].end(BridgeError(.notConnected))
        _ = await clock.sleeps.first(1)
        transport.events.all[0](.disconnected(reason: nil))
        transport.events.all[0](.reconnected(gap: .zero, unsent: 0))
        await transport.attempts.first(2)[1].end(nil)
        try await till.stop()
    }

    /// The transport refuses one of a row at once: those behind it are not published before it.
    @Test func nothingIsPublishedBehindAnAttemptThatHasFailed() async throws {
        let totals = Recorder<String>()
        var failing = AlteredTransport(broker)
        failing.publishes = { message in
            totals.record(String(decoding: message.body, as: UTF8.self))
            if totals.all.filter({ $0 == "1" }).count == 1, totals.all.last == "1" { throw BridgeError(.notConnected) }
            return message
        }
        let till = await MiniProcess("till", failing, Self.routes) { board, _ in
            for number in 0..<5 { board[.number].post(number) }
        }
        #expect(await totals.first(6) == ["0", "1", "1", "2", "3", "4"])
        try await till.stop()
        #expect(till.bridge.statistics.sent == 5 && totals.count == 6)
    }

    @Test func durableMessageThatCannotBeEncodedFailsAndTheOthersAreSent() async throws {
        let routes: [BridgeRoute] = [.outgoing(matching: "shop.*", of: Sale.self, durable: true)]
        let till = await MiniProcess("till", InMemoryTransport(broker), routes)
        let report = await till.board[ChannelName<Order>("shop.menu")].postAndWait(Order(dish: "soup"))
        #expect((report.failures.first?.error as? BridgeError)?.code == .unencodable)
        #expect(await till.board[.sold].postAndWait(Sale(total: 1)).isComplete)
        try await till.stop()
        let statistics = till.bridge.statistics
        #expect(statistics.failed == 1 && statistics.sent == 1 && statistics.dropped == 0)
        #expect(till.faults.all.map(\.code) == [.bridgeFailed])
    }

    /// Large messages are not all encoded before the first of them is on its way.
    @Test func fewLargeMessagesAreEncodedBeforeTheyArePublished() async throws {
        let (gate, published, codec) = (Gate(), Recorder<Int>(), CountingCodec())
        var holding = AlteredTransport(broker)
        holding.publishes = { message in
            published.record(codec.encoded.count)
            await gate.wait()
            return message
        }
        let routes: [BridgeRoute] = [.outgoing(.text, durable: true)]
        let till = await MiniProcess("till", holding, routes, configuration: .quick.with { $0.codec = codec })
        till.board[.text].post("first")
        _ = await published.first(1)
        for _ in 0..<10 { till.board[.text].post(String(repeating: "x", count: 40_000)) }
        gate.open()
        // With two of them there are enough bytes to write.
        #expect(await published.first(11) == [1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11])
        try await till.stop()
        #expect(till.bridge.statistics.sent == 11)
    }

    /// Nobody is left waiting for them.
    @Test func whatTheBrokerHasNotAcknowledgedInTimeIsDroppedAndTold() async throws {
        let transport = Attempts()
        let configuration = BridgeConfiguration.quick.with { $0.closeTimeout = .zero }
        let till = await MiniProcess("till", transport, Self.routes, configuration: configuration)
        let posting = (0..<3).map { number in Task { await till.board[.number].postAndWait(number) } }
        _ = await transport.attempts.first(3)
        #expect(till.bridge.statistics.waitingToSend == 3)
        await #expect { try await till.stop() } throws: { ($0 as? BridgeError)?.code == .closingTimedOut }
        var failures = 0
        for task in posting {
            let report = await task.value
            #expect(!report.isComplete)
            failures += report.failures.count
        }
        // The others were discarded with the listener.
        #expect(till.faults.all.map(\.code) == [Fault.Code](repeating: .bridgeFailed, count: failures))
        let statistics = till.bridge.statistics
        #expect(statistics.dropped == 3 && statistics.waitingToSend == 0 && statistics.sent + statistics.failed == 0)
    }

    /// Each is told that it has been sent, though the bridge ends as soon as they are acknowledged.
    @Test func whoeverWaitsForAMessageSentAtTheEndIsTold() async throws {
        let transport = Attempts()
        let till = await MiniProcess("till", transport, Self.routes)
        let posting = (0..<100).map { number in Task { await till.board[.number].postAndWait(number) } }
        let attempts = await transport.attempts.first(100)
        let stopping = Task { try await till.stop() }
        _ = await till.bridge.status.first { $0.phase == .ending }
        for attempt in attempts { attempt.end(nil) }
        for task in posting { #expect(await task.value.isComplete) }
        try await stopping.value
        #expect(till.bridge.statistics.sent == 100)
    }
}

/// JSON, and how much of it.
private struct CountingCodec: Codec {
    let encoded = Recorder<Int>()
    let contentType = "application/json"

    func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] {
        let bytes = try JSONCodec().encode(message)
        encoded.record(bytes.count)
        return bytes
    }

    func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
        try JSONCodec().decode(type, from: bytes)
    }
}

extension ChannelName<Int> {
    fileprivate static var number: Self { "shop.number" }
}

extension ChannelName<String> {
    fileprivate static var text: Self { "shop.text" }
}
