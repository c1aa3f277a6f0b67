import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct DurableTests {
    private let broker = InMemoryBroker()

    @Test func postAndWaitReturnsWhenTheBrokerHasAcknowledged() async throws {
        let gate = Gate()
        let published = Recorder<TransportMessage>()
        var slow = AlteredTransport(broker)
        slow.publishes = { message in
            published.record(message)
            await gate.wait()
            return message
        }
        let till = await MiniProcess("till", slow, [.outgoing(.ordered, durable: true)])
        let reports = Recorder<DeliveryReport>()
        let posting = Task { reports.record(await till.board[.ordered].postAndWait(Order(dish: "soup"))) }
        _ = await published.first(1)
        #expect(reports.count == 0)
        gate.open()
        await posting.value
        #expect(reports.all.first?.isComplete == true && reports.all.first?.reachedCount == 1)
        try await till.stop()
    }

    /// By which it can tell a message that it has handled, also one that was put back as a dead letter.
    @Test func aListenerIsToldWhichMessageItIsWhenItWasPostedAndHowOftenItCame() async throws {
        let configuration = BridgeConfiguration.quick.with {
            $0.failureLimit = 2
            $0.deadLetters = "dead"
        }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true), .incoming(.sold)],
            configuration: configuration
        )
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.ordered, durable: true), .outgoing(.sold)]
        )
        let heard = Recorder<Posted<any Sendable>>()
        let tokens = [
            kitchen.board[.ordered].posts.listen { post in
                heard.record(Posted(post.message, origin: post.origin, delivery: post.delivery))
                if heard.count <= 2 { throw Trouble() }
            },
            kitchen.board[.sold].posts.listen { @MainActor post in
                heard.record(Posted(post.message, origin: post.origin, delivery: post.delivery))
            },
            till.board[.ordered].posts.listen { #expect($0.delivery == nil) },
        ]
        _ = await till.board[.ordered].postAndWait(Order(dish: "soup"))
        await kitchen.deadLetters.wait(count: 1)
        #expect(
            try await DeadLetterBox("dead").putBack(over: InMemoryTransport(broker), atMost: 1) == 1
        )
        let posts = await heard.wait(count: 3)
        let deliveries = posts.compactMap(\.delivery)
        #expect(deliveries.map(\.attempt) == [1, 2, 1])
        #expect(Set(deliveries.map(\.id)).count == 1 && !deliveries[0].id.isEmpty)
        #expect(Set(deliveries.map(\.secondsSince1970)).count == 1 && deliveries[0].secondsSince1970 != nil)
        #expect(kitchen.deadLetters.all.first?.delivery?.id == deliveries[0].id)
        await till.board[.sold].postAndWait(Sale(total: 1))
        let plain = await heard.wait(count: 4)[3].delivery
        #expect(plain?.attempt == 1 && plain?.id.isEmpty == false && plain?.id != deliveries[0].id)
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(tokens) {}
    }

    /// Its buffer counts as handled: a process that ends has lost it.
    @Test(arguments: [true, false]) func aSequenceThatAloneHearsADurableRouteIsReportedOnce(isAlone: Bool) async throws
    {
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true), .incoming(.sold)]
        )
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.ordered, durable: true), .outgoing(.sold)]
        )
        let orders = kitchen.board[.ordered].messages()
        let sales = kitchen.board[.sold].messages()
        let token = isAlone ? nil : kitchen.board[.ordered].listen { _ in }
        for dish in ["soup", "bread"] { await till.board[.ordered].postAndWait(Order(dish: dish)) }
        await till.board[.sold].postAndWait(Sale(total: 1))
        for await order in orders where order.dish == "bread" { break }
        for await _ in sales { break }
        // The report comes when the message is settled.
        while kitchen.bridge.statistics.received < 3 { await Task.yield() }
        let faults = kitchen.faults.all.map { "\($0)" }
        #expect(faults.count == (isAlone ? 1 : 0), "\(faults)")
        #expect(faults.allSatisfy { $0.contains("kitchen.ordered") && $0.contains("channel.listen(self)") })
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func whatIsPostedWhileAReceiverIsAwayArrivesLater() async throws {
        let before = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.ordered, durable: true)])
        try await before.stop()
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        for number in 0..<20 {
            let report = await till.board[.ordered].postAndWait(Order(dish: "\(number)"))
            #expect(report.isComplete)
        }
        let heard = Recorder<Order>()
        let board = Switchboard()
        let token = board[.ordered].listen { order in heard.record(order) }
        let after = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            board: board
        )
        #expect(await heard.first(20).map(\.dish) == (0..<20).map { "\($0)" })
        try await after.stop()
        try await till.stop()
        #expect(after.bridge.statistics.received == 20)
        withExtendedLifetime(token) {}
    }

    @Test func aMessageIsAcknowledgedWhenItsListenersHaveRun() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.ordered, durable: true)])
        let gate = Gate()
        let begun = Recorder<Order>()
        let token = kitchen.board[.ordered].listen { order in
            begun.record(order)
            await gate.wait()
        }
        till.board[.ordered].post(Order(dish: "soup"))
        _ = await begun.first(1)
        #expect(kitchen.bridge.statistics.received == 0)
        gate.open()
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.received == 1)
        try await till.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aMessageWhoseListenerThrewIsDeliveredAgainUntilItSucceeds() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.ordered, durable: true)])
        let attempts = Recorder<Order>()
        let (others, othersToken) = kitchen.recorder(.ordered)
        let token = kitchen.board[.ordered].listen { order in
            attempts.record(order)
            if attempts.count < 3 { throw Trouble() }
        }
        till.board[.ordered].post(Order(dish: "soup"))
        _ = await attempts.first(3)
        try await kitchen.stop()
        try await till.stop()
        // The listener that succeeded hears it each time, too.
        #expect(attempts.count == 3 && others.count == 3)
        let statistics = kitchen.bridge.statistics
        #expect(statistics.retried == 2 && statistics.received == 1 && statistics.refused == 0)
        withExtendedLifetime((token, othersToken)) {}
    }

    @Test func aMessageThatFailsTooOftenBecomesADeadLetterForGood() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let configuration = BridgeConfiguration.quick.with { $0.failureLimit = 3 }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: configuration
        )
        let attempts = Recorder<Order>()
        let token = kitchen.board[.ordered].listen { order in
            attempts.record(order)
            if order.dish == "bad" { throw Trouble() }
        }
        till.board[.ordered].post(Order(dish: "bad"))
        let letters = await kitchen.deadLetters.first(1)
        #expect(letters.first?.error.code == .tooManyFailures && letters.first?.deliveryCount == 3)
        #expect(letters.first?.error.underlyingError is Trouble)
        till.board[.ordered].post(Order(dish: "good"))
        await attempts.wait { $0.contains(Order(dish: "good")) }
        try await kitchen.stop()
        try await till.stop()
        #expect(attempts.all.map(\.dish) == ["bad", "bad", "bad", "good"])
        #expect(kitchen.bridge.statistics.refused == 1)
        #expect(kitchen.faults.all.contains { $0.code == .bridgeFailed && $0.channelName == "kitchen.ordered" })
        withExtendedLifetime(token) {}
    }

    /// The broker also counts deliveries that ended with a shutdown or a crash.
    @Test func onlyFailuresOfListenersCountAndNotDeliveries() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        var counting = AlteredTransport(broker)
        counting.receives = {
            [
                InboundMessage(
                    $0.message,
                    deliveryCount: $0.deliveryCount + 50,
                    identity: $0.identity,
                    onSettled: $0.resettle
                )
            ]
        }
        let configuration = BridgeConfiguration.quick.with { $0.failureLimit = 2 }
        let routes: [BridgeRoute] = [.incoming(.ordered, durable: true)]
        let kitchen = await MiniProcess("kitchen", counting, routes, configuration: configuration)
        let attempts = Recorder<Order>()
        let token = kitchen.board[.ordered].listen { order in
            attempts.record(order)
            if attempts.count == 1 { throw Trouble() }
        }
        till.board[.ordered].post(Order(dish: "soup"))
        _ = await attempts.first(2)
        try await kitchen.stop()
        try await till.stop()
        #expect(attempts.count == 2 && kitchen.deadLetters.count == 0)
        #expect(kitchen.bridge.statistics.received == 1)
        withExtendedLifetime(token) {}
    }

    /// Each process handles one, and ends while the second is in a listener that does not return in time.
    @Test func messagesOfProcessesThatEndAreNoDeadLetters() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let configuration = BridgeConfiguration.quick.with {
            $0.failureLimit = 1
            $0.closeTimeout = .zero
        }
        let routes: [BridgeRoute] = [.incoming(.ordered, durable: true)]
        try await MiniProcess("kitchen", InMemoryTransport(broker), routes).stop()
        for number in 0..<10 { await till.board[.ordered].postAndWait(Order(dish: "\(number)")) }
        let handled = Recorder<String>()
        var letters = 0
        while handled.count < 10 {
            let (board, gate, begun) = (Switchboard(onFault: { _ in }), Gate(), Recorder<Int>())
            let isFirst = Locked(true)
            let token = board[.ordered].listen { order in
                let isFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if isFirst { handled.record(order.dish) }
                begun.record(1)
                if !isFirst { await gate.wait() }
            }
            let expected = handled.count == 9 ? 1 : 2
            let transport = InMemoryTransport(broker)
            let kitchen = await MiniProcess("kitchen", transport, routes, configuration: configuration, board: board)
            _ = await begun.first(expected)
            try? await kitchen.stop()
            gate.open()
            letters += kitchen.deadLetters.count
            withExtendedLifetime(token) {}
        }
        try await till.stop()
        #expect(handled.all == (0..<10).map { "\($0)" } && letters == 0)
    }

    /// Else what was posted while the process was away would be left to a route that was away, too.
    @Test func durableRoutesGoBeforeTheOthers() async throws {
        let incoming: [BridgeRoute] = [
            .incoming(matching: "kitchen.*", of: Order.self), .incoming(.ordered, durable: true),
        ]
        let outgoing: [BridgeRoute] = [
            .outgoing(matching: "kitchen.*", of: Order.self), .outgoing(.ordered, durable: true),
        ]
        let before = await MiniProcess("kitchen", InMemoryTransport(broker), incoming)
        try await before.stop()
        let till = await MiniProcess("till", InMemoryTransport(broker), outgoing)
        let away = await till.board[.ordered].postAndWait(Order(dish: "while away"))
        #expect(away.isComplete)
        let heard = Recorder<Order>()
        let board = Switchboard()
        let token = board[.ordered].listen { order in heard.record(order) }
        let after = await MiniProcess("kitchen", InMemoryTransport(broker), incoming, board: board)
        _ = await heard.first(1)
        let there = await till.board[.ordered].postAndWait(Order(dish: "while there"))
        #expect(there.isComplete)
        _ = await heard.first(2)
        try await after.stop()
        try await till.stop()
        #expect(heard.all.map(\.dish) == ["while away", "while there"])
        withExtendedLifetime(token) {}
    }

    /// A bare "not acknowledged" redelivers a thousand times a second.
    @Test func aMessageThatFailedWaitsLongerEachTime() async throws {
        let clock = ManualClock()
        let broker = InMemoryBroker(clock: clock)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.ordered, durable: true)])
        let configuration = BridgeConfiguration.quick.with {
            $0.backoff = Backoff(first: .seconds(1), limit: .seconds(3))
            $0.failureLimit = 5
        }
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.ordered, durable: true)],
            configuration: configuration
        )
        let attempts = Recorder<Order>()
        let token = kitchen.board[.ordered].listen { order in
            attempts.record(order)
            throw Trouble()
        }
        till.board[.ordered].post(Order(dish: "bad"))
        for (repetition, wait) in [1, 2, 3, 3].enumerated() {
            #expect(await clock.sleeps.first(repetition + 1).last == .seconds(wait))
            #expect(attempts.count == repetition + 1)
            clock.advance(by: .seconds(wait))
        }
        _ = await kitchen.deadLetters.first(1)
        try await kitchen.stop()
        try await till.stop()
        #expect(attempts.count == 5)
        withExtendedLifetime(token) {}
    }

    @Test func publishingIsTriedAgainWithTheSameIdentifier() async throws {
        let tries = Recorder<String>()
        var failing = AlteredTransport(broker)
        failing.publishes = { message in
            tries.record(message.headers["ce-id"] ?? "none")
            if tries.count < 3 { throw BridgeError(.notAcknowledged, subject: message.subject) }
            return message
        }
        let till = await MiniProcess("till", failing, [.outgoing(.ordered, durable: true)])
        let report = await till.board[.ordered].postAndWait(Order(dish: "soup"))
        #expect(report.isComplete)
        #expect(tries.count == 3 && Set(tries.all).count == 1)
        try await till.stop()
        #expect(till.bridge.statistics.sent == 1 && till.bridge.statistics.failed == 0)
    }

    @Test func publishingThatCannotSucceedIsAFailureOfThePost() async throws {
        let tries = Recorder<String>()
        var failing = AlteredTransport(broker)
        failing.publishes = { message in
            tries.record(message.subject)
            throw BridgeError(.payloadTooLarge, subject: message.subject)
        }
        let till = await MiniProcess("till", failing, [.outgoing(.sold, durable: true)])
        let sale = await till.board[.sold].postAndWait(Sale(total: 1))
        #expect((sale.failures.first?.error as? BridgeError)?.code == .payloadTooLarge)
        #expect(tries.count == 1)
        try await till.stop()
        #expect(till.bridge.statistics.failed == 1 && till.bridge.statistics.waitingToSend == 0)
        #expect(till.faults.all.map(\.code) == [.bridgeFailed])
    }
}
