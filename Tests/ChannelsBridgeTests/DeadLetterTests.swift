import Channels
import ChannelsBridge
import ChannelsTesting
import Synchronization
import Testing

/// Dead letters that a broker keeps, limits for listeners, and messages that are heard once more.
@Suite(.hangLimit)
struct DeadLetterTests {
    private let broker = InMemoryBroker()
    private let configuration = BridgeConfiguration.quick.with {
        $0.deadLetters = "dead"
        $0.failureLimit = 2
    }

    @Test func aDeadLetterIsOneLineWithItsBodyAsText() throws {
        let error = BridgeError(.tooManyFailures, subject: "shop.sold", detail: "listeners failed 2 times")
        func line(_ body: [UInt8]) throws -> String {
            let message = try TransportMessage(subject: "shop.sold", headers: ["ce-id": "1"], body: body)
            return "\(DeadLetter(message: message, error: error, deliveryCount: 2))"
        }
        let end = ", delivered 2 times: tooManyFailures on 'shop.sold', listeners failed 2 times"
        let start = "dead letter on 'shop.sold', 1 header, "
        #expect(try line(Array(#"{"total":7}"#.utf8)) == start + #"11 bytes: {"total":7}"# + end)
        #expect(try line(Array("a\nb".utf8)) == start + #"3 bytes: a\nb"# + end)
        #expect(try line([0xFF, 0]) == start + "2 bytes" + end)
        #expect(try line([0x7F]) == start + "1 byte" + end)
        #expect(try line([]) == start + "0 bytes" + end)
        let long = try line(Array(repeating: 0x61, count: 10_000))
        #expect(long.contains("10000 bytes: aaa") && long.contains("a…, delivered") && long.utf8.count < 400)
    }

    /// However few a bridge may hold, it remembers how often each of them has failed.
    @Test func manyThatFailInTurnBecomeDeadLettersInASmallBridge() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: .quick.with {
                $0.buffer.messages = 8
                $0.failureLimit = 3
                // So that others come in between.
                $0.backoff = Backoff(first: .milliseconds(20), limit: .milliseconds(20))
            },
            beforeRunning: { board, _ in board[.ordered].listen(board) { _, _ in throw Trouble() } }
        )
        for number in 0..<20 { #expect(await till.board[.ordered].postAndWait(Order(dish: "\(number)")).isComplete) }
        let letters = await kitchen.deadLetters.first(20)
        #expect(Set(letters.map { String(decoding: $0.message.body, as: UTF8.self) }).count == 20)
        #expect(letters.allSatisfy { $0.deliveryCount == 3 })
        try await till.stop()
        try await kitchen.stop()
    }

    @Test func aDeadLetterIsKeptBeforeItsMessageTerminatesAndCanReturn() async throws {
        let kept = Recorder<TransportMessage>()
        let wire = try await connectedTransport(broker)
        try await wire.subscribe(to: "dead.>") { kept.record($0.message) }
        let published = Recorder<TransportMessage>()
        try await wire.subscribe(to: "kitchen.>") { published.record($0.message) }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let isMended = Gate()
        let heard = Recorder<String>()
        var processes: [MiniProcess] = []
        var tokens: [ListenerToken] = []
        for name in ["kitchen", "bar"] {
            let process = await MiniProcess(
                name,
                InMemoryTransport(broker),
                [.incoming(.ordered, durable: true)],
                configuration: configuration
            )
            tokens.append(
                process.board[.ordered].listen { (order: Order) throws in
                    if name == "kitchen", order.dish == "soup", !isMended.isOpen { throw Trouble() }
                    heard.record("\(name) \(order.dish)")
                }
            )
            processes.append(process)
        }
        let kitchen = processes[0]
        for dish in ["soup", "bread"] { #expect(await till.board[.ordered].postAndWait(Order(dish: dish)).isComplete) }
        let letter = try #require(await kept.first(1).first)
        #expect(letter.subject == "dead.kitchen.ordered")
        #expect(String(decoding: letter.body, as: UTF8.self) == #"{"dish":"soup"}"#)
        #expect(letter.headers["dead-letter-subject"] == "kitchen.ordered")
        #expect(letter.headers["dead-letter-name"] == "kitchen")
        #expect(letter.headers["dead-letter-reason"]?.contains("tooManyFailures") == true)
        #expect(await kitchen.deadLetters.first(1).first?.error.code == .tooManyFailures)
        #expect(Set(await heard.first(3)) == ["kitchen bread", "bar soup", "bar bread"])

        isMended.open()
        let box = DeadLetterBox("dead")
        #expect(try await box.putBack(over: InMemoryTransport(broker), atMost: 1) == 1)
        let again = try #require(await published.first(3).last)
        #expect(again.subject == "kitchen.ordered" && again.body == letter.body)
        #expect(again.headers["dead-letter-reason"] == nil && again.headers["dead-letter-subject"] == nil)
        // For the kitchen only: the bar had it.
        await heard.wait { $0.contains("kitchen soup") }
        #expect(await till.board[.ordered].postAndWait(Order(dish: "end")).isComplete)
        _ = await heard.first(6)
        #expect(heard.all.filter { $0 == "bar soup" }.count == 1)
        // Once.
        #expect(try await box.putBack(over: InMemoryTransport(broker)) == 0)
        for process in processes + [till] { try await process.stop() }
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime(tokens) {}
    }

    @Test func aMessageWhoseLetterCannotBeKeptComesAgain() async throws {
        let refusals = Atomic<Int>(0)
        var stubborn = AlteredTransport(broker)
        stubborn.publishes = { message in
            guard message.subject.hasPrefix("dead.") else { return message }
            if refusals.wrappingAdd(1, ordering: .relaxed).oldValue < 3 { throw BridgeError(.notAcknowledged) }
            return message
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            stubborn,
            [.incoming(.ordered, durable: true)],
            configuration: configuration
        )
        let token = kitchen.board[.ordered].listen { (_: Order) throws in throw Trouble() }
        #expect(await till.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        #expect(await kitchen.deadLetters.first(1).count == 1)
        #expect(refusals.load(ordering: .relaxed) == 4)
        #expect(kitchen.faults.all.filter { "\($0)".contains("notAcknowledged") }.count == 3)
        try await kitchen.stop()
        try await till.stop()
        #expect(kitchen.bridge.statistics.refused == 1 && kitchen.deadLetters.count == 1)
        withExtendedLifetime(token) {}
    }

    /// A letter has more headers than its message.
    @Test func letterThatIsTooLargeIsKeptWithoutWhatOnlyExplainsIt() async throws {
        var narrow = AlteredTransport(broker)
        narrow.publishes = { message in
            if message.headers["dead-letter-reason"] != nil { throw BridgeError(.payloadTooLarge) }
            return message
        }
        let kept = Recorder<TransportMessage>()
        let wire = try await connectedTransport(broker)
        try await wire.subscribe(to: "dead.>") { kept.record($0.message) }
        let kitchen = await MiniProcess(
            "kitchen",
            narrow,
            [.incoming(.sold, durable: true).retryingUndecodable(atMost: 0)],
            configuration: configuration
        )
        try await wire.publish(.event("no sale", to: "shop.sold", id: "7"), durable: true)
        _ = await kitchen.deadLetters.first(1)
        try await kitchen.stop()
        try await wire.close(timeout: .seconds(1))
        let headers = try #require(kept.all.first).headers
        #expect(headers["dead-letter-name"] == "kitchen" && headers["dead-letter-subject"] == "shop.sold")
        #expect(headers["dead-letter-id"] == "7" && headers["ce-id"] != "7")
        #expect(kept.count == 1 && kitchen.bridge.statistics.refused == 1 && kitchen.bridge.statistics.retried == 0)
        #expect(!kitchen.faults.all.contains { "\($0)".contains("payloadTooLarge") })
    }

    /// Otherwise it would come again for ever, and as many of them as may be unsettled would stop the name.
    @Test(arguments: [BridgeError.Code.payloadTooLarge, .invalidName, .invalidHeader])
    func messageWhoseLetterCannotBeKeptReachesTheHandlerAndTerminates(_ code: BridgeError.Code) async throws {
        var narrow = AlteredTransport(broker)
        narrow.publishes = { message in
            if message.subject.hasPrefix("dead.") { throw BridgeError(code, subject: message.subject) }
            return message
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            narrow,
            [.incoming(.ordered, durable: true)],
            configuration: configuration
        )
        let heard = Recorder<String>()
        let token = kitchen.board[.ordered].listen { (order: Order) throws in
            heard.record(order.dish)
            if order.dish == "soup" { throw Trouble() }
        }
        #expect(await till.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        #expect(await kitchen.deadLetters.first(1).first?.error.code == .tooManyFailures)
        #expect(await till.board[.ordered].postAndWait(Order(dish: "bread")).isComplete)
        await heard.wait { $0.contains("bread") }
        try await kitchen.stop()
        try await till.stop()
        #expect(heard.all == ["soup", "soup", "bread"] && kitchen.deadLetters.count == 1)
        #expect(kitchen.faults.all.filter { "\($0)".contains("\(code)") }.count == 1)
        let statistics = kitchen.bridge.statistics
        #expect(statistics.refused == 1 && statistics.retried == 1 && statistics.received == 1)
        withExtendedLifetime(token) {}
    }

    @Test func whatCannotBeDecodedIsKeptToo() async throws {
        let kept = Recorder<TransportMessage>()
        let wire = try await connectedTransport(broker)
        try await wire.subscribe(to: "dead.>") { kept.record($0.message) }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, durable: true), .incoming(matching: "dead.>", of: Sale.self, durable: true)],
            configuration: configuration
        )
        try await wire.publish(.event("no sale", to: "shop.sold", id: "7"), durable: true)
        let letter = await kept.first(1).first
        #expect(letter?.headers["dead-letter-id"] == "7" && letter?.subject == "dead.shop.sold")
        #expect(letter.map { String(decoding: $0.body, as: UTF8.self) } == "no sale")
        // The letter of a letter is not kept: it cannot be decoded either. Which of the two is told first is not
        // promised: the letter may have arrived before its publisher knows that it is kept.
        let subjects = await kitchen.deadLetters.first(2).map(\.message.subject)
        #expect(Set(subjects) == ["shop.sold", "dead.shop.sold"])
        try await kitchen.stop()
        #expect(kept.count == 1)
        try await wire.close(timeout: .seconds(1))
    }

    @Test func listenersThatTakeTooLongHaveFailed() async throws {
        let clock = ManualClock()
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: .quick.with {
                $0.failureLimit = 1
                $0.listenerTimeout = .seconds(5)
                $0.clock = clock
            }
        )
        let gate = Gate()
        let heard = Recorder<String>()
        let token = kitchen.board[.ordered].listen { order in
            if order.dish == "slow" { await gate.wait() }
            heard.record(order.dish)
        }
        #expect(await till.board[.ordered].postAndWait(Order(dish: "fast")).isComplete)
        _ = await heard.first(1)
        #expect(await till.board[.ordered].postAndWait(Order(dish: "slow")).isComplete)
        await clock.sleeps.wait { $0.count == 2 }
        clock.advance(by: .seconds(5))
        let letter = try #require(await kitchen.deadLetters.first(1).first)
        #expect(letter.error.code == .tooManyFailures)
        #expect((letter.error.underlyingError as? BridgeError)?.code == .timedOut)
        gate.open()
        #expect(await till.board[.ordered].postAndWait(Order(dish: "next")).isComplete)
        #expect(await heard.first(3) == ["fast", "slow", "next"])
        try await kitchen.stop()
        try await till.stop()
        #expect(kitchen.bridge.statistics.received == 2 && kitchen.bridge.statistics.refused == 1)
        withExtendedLifetime(token) {}
    }

    @Test func messagesThatNothingIdentifiesHaveACountOfFailuresEach() async throws {
        let (transport, settled) = (FedTransport(), Recorder<Settlement>())
        let kitchen = await MiniProcess(
            "kitchen",
            transport,
            [.incoming(.ordered, durable: true)],
            configuration: configuration,
            beforeRunning: { board, _ in board[.ordered].listen(board) { _, _ in throw Trouble() } }
        )
        let message = try TransportMessage(subject: "kitchen.ordered", body: Array(#"{"dish":"soup"}"#.utf8))
        for delivery in 1...2 {
            for _ in 0..<7 {
                let inbound = InboundMessage(message, deliveryCount: delivery) {
                    if let end = $0 { settled.record(end) }
                }
                transport.subscribers.all[0](inbound)
            }
            #expect(await settled.first(7 * delivery).suffix(7).allSatisfy { ($0 == .terminated) == (delivery == 2) })
        }
        #expect(kitchen.deadLetters.count == 7)
        try await kitchen.stop()
    }

    @Test func aMessageDeliveredTooOftenIsADeadLetterThatNobodyHears() async throws {
        var altered = AlteredTransport(broker)
        altered.receives = {
            [InboundMessage($0.message, deliveryCount: 101, identity: $0.identity, onSettled: $0.resettle)]
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess(
            "kitchen",
            altered,
            [.incoming(.ordered, durable: true)]
        )
        let (heard, token) = kitchen.recorder(.ordered)
        #expect(await till.board[.ordered].postAndWait(Order(dish: "poison")).isComplete)
        #expect(await kitchen.deadLetters.first(1).first?.deliveryCount == 101)
        try await kitchen.stop()
        try await till.stop()
        #expect(heard.count == 0)
        withExtendedLifetime(token) {}
    }

    /// A process whose sales the broker has stored.
    private func tillThatSold(_ count: Int) async -> MiniProcess {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, durable: true)])
        for total in 0..<count { #expect(await till.board[.sold].postAndWait(Sale(total: total)).isComplete) }
        return till
    }

    @Test func aNewDurableNameBeginsWhereItsRouteSays() async throws {
        let till = await tillThatSold(3)
        let starts: [(ReplayStart?, first: Int)] = [
            (nil, 0), (.beginning, 0), (.ago(.seconds(3_600)), 0), (.new, 3), (.ago(.zero), 3),
        ]
        for (start, first) in starts {
            let route = BridgeRoute.incoming(.sold, durable: true).inGroup("\(start as Any)")
            let board = Switchboard()
            let heard = Recorder<Int>()
            let token = board[.sold].listen { sale in heard.record(sale.total) }
            let reader = await MiniProcess(
                "reader",
                InMemoryTransport(broker),
                [start.map { route.replaying(from: $0) } ?? route],
                board: board
            )
            #expect(await till.board[.sold].postAndWait(Sale(total: 100)).isComplete)
            let totals = await heard.wait { $0.contains(100) }
            #expect(totals.prefix { $0 != 100 }.elementsEqual(first..<3), "from \(start as Any)")
            try await reader.stop()
            withExtendedLifetime(token) {}
        }
        try await till.stop()
    }

    @Test func aSecondDurableNameOfABridgeHearsWhatIsStored() async throws {
        let till = await tillThatSold(3)
        let board = Switchboard()
        let heard = Recorder<Int>()
        let token = board[.sold].listen { sale in heard.record(sale.total) }
        let reader = await MiniProcess(
            "reader",
            InMemoryTransport(broker),
            [
                .incoming(.sold, durable: true),
                .incoming(.sold, durable: true).inGroup("audit"),
            ],
            board: board
        )
        #expect(await till.board[.sold].postAndWait(Sale(total: 100)).isComplete)
        #expect(await heard.wait(count: 8).sorted() == [0, 0, 1, 1, 2, 2, 100, 100])
        try await reader.stop()
        try await till.stop()
        withExtendedLifetime(token) {}
    }
}
