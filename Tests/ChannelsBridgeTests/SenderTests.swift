import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// The senders of outgoing routes, without the bridge.
@Suite(.hangLimit)
struct SenderTests {
    /// A durable sender whose attempts end when the test says so.
    private struct Durable {
        let transport = Attempts()
        let context: BridgeContext
        let sender: DurableSender

        init(_ configuration: BridgeConfiguration = .quick) {
            context = BridgeContext(transport, configuration)
            sender = DurableSender(context, Packaging(context))
        }

        func take(_ number: Int) -> Departure? { sender.take(number, postedTo: "shop.number") }
    }

    private func code(_ error: any Error) -> BridgeError.Code? { (error as? BridgeError)?.code }

    /// Lets every task of the main actor run as far as it can.
    @MainActor private func others() async {
        for _ in 0..<20 { await Task { @MainActor in }.value }
    }

    /// The listener may wait for an earlier one, which takes long.
    @Test func whatIsAcknowledgedTakesNoBytesBeforeItsEndIsHeard() async throws {
        let durable = Durable()
        let departure = try #require(durable.take(1))
        durable.sender.work()
        let attempt = await durable.transport.attempts.first(1)[0]
        #expect(durable.context.outgoing.bytes > 0)
        attempt.end(nil)
        #expect(departure.packed == nil && durable.context.outgoing.bytes == 0)
        // Told twice: it is given back once.
        attempt.end(nil)
        #expect(durable.context.outgoing.bytes == 0 && durable.context.outgoing.messages == 1)
        try await durable.sender.send(departure)
        await durable.sender.finish()
    }

    @MainActor @Test func finishingWaitsUntilEveryEndHasBeenHeard() async throws {
        let durable = Durable()
        let departures = try (0..<3).map { try #require(durable.take($0)) }
        durable.sender.work()
        for attempt in await durable.transport.attempts.first(3) { attempt.end(nil) }
        let order = Recorder<String>()
        let finishing = Task { @MainActor in
            await durable.sender.finish()
            order.record("finished")
        }
        for departure in departures {
            await others()
            order.record("heard")
            try await durable.sender.send(departure)
        }
        await finishing.value
        #expect(order.all == ["heard", "heard", "heard", "finished"])
        // It takes nothing more.
        #expect(durable.take(4) == nil)
    }

    @MainActor @Test func givingUpEndsTheWaitForEndsThatNobodyHears() async throws {
        let durable = Durable()
        let departure = try #require(durable.take(0))
        durable.sender.work()
        for attempt in await durable.transport.attempts.first(1) { attempt.end(nil) }
        let finishing = Task { @MainActor in await durable.sender.finish() }
        await others()
        durable.sender.abandon()
        await finishing.value
        withExtendedLifetime(departure) {}
    }

    /// The broker is gone, and the next attempt is a long time away.
    @MainActor @Test(arguments: [false, true]) func givingUpEndsWhatIsUnderWayAndItsPauses(pauses: Bool) async throws {
        let clock = ManualClock()
        let durable = Durable(
            .quick.with {
                $0.clock = clock
                $0.backoff = Backoff(first: .seconds(1_000), limit: .seconds(1_000))
            }
        )
        let departures = try (0..<3).map { try #require(durable.take($0)) }
        durable.sender.work()
        let attempts = await durable.transport.attempts.first(3)
        if pauses {
            for attempt in attempts { attempt.end(BridgeError(.notConnected)) }
            _ = await clock.sleeps.first(1)
        }
        let finishing = Task { @MainActor in await durable.sender.finish() }
        await others()
        durable.sender.abandon()
        await finishing.value
        #expect(durable.context.statistics.dropped == 3)
        for departure in departures {
            await #expect { try await durable.sender.send(departure) } throws: { code($0) == .closed }
        }
        // What the transport says now changes nothing.
        attempts[0].end(nil)
        #expect(durable.context.statistics.dropped == 3 && durable.context.statistics.failed == 0)
        #expect(durable.take(4) == nil)
    }

    /// The publishing task itself is held up: nothing else would tell the listener.
    @MainActor @Test func givingUpTellsWhoWaitsAlsoWhileTheTransportHoldsTheMessage() async throws {
        let (gate, published) = (Gate(), Recorder<String>())
        var holding = AlteredTransport(InMemoryBroker())
        holding.publishes = { message in
            published.record(message.subject)
            await gate.wait()
            return message
        }
        let context = BridgeContext(holding, .quick)
        let sender = DurableSender(context, Packaging(context))
        let departure = try #require(sender.take(1, postedTo: "shop.number"))
        sender.work()
        _ = await published.first(1)
        let sending = Task { @MainActor in try await sender.send(departure) }
        await others()
        sender.abandon()
        await #expect { try await sending.value } throws: { code($0) == .closed }
        gate.open()
        await sender.finish()
    }

    /// The message that its listener waits for is reported by the listener.
    @MainActor @Test func whatIsBeingEncodedWhenTheSenderGivesUpIsReportedOnce() async throws {
        let faults = Recorder<Fault>()
        let context = BridgeContext(Attempts(), .quick) { faults.record($0) }
        let giveUp = Locked<(@Sendable () -> Void)?>(nil)
        let packaging = Packaging(context, MessageFormat(typeName: "Int", codec: JSONCodec())) { _, _ in
            giveUp.withLock { $0 }?()
            return []
        }
        let sender = DurableSender(context, packaging)
        giveUp.withLock { $0 = { sender.abandon() } }
        let departure = try #require(sender.take(1, postedTo: "shop.number"))
        await #expect { try await sender.send(departure) } throws: { code($0) == .closed }
        await sender.finish()
        #expect(faults.count == 1 && context.statistics.dropped == 1)
        giveUp.withLock { $0 = nil }
    }

    /// Whatever is full: the route, or the bridge.
    @Test(arguments: [true, false]) func whatIsRefusedTakesUpNoPlaceAndIsCounted(isOfRoute: Bool) throws {
        let durable = Durable(.quick.with { $0.buffer.messages = 32 })
        // Of the sixteen that all routes may hold, others hold fourteen.
        let others = isOfRoute ? nil : durable.context.outgoing.charge(messages: 14)
        defer { withExtendedLifetime(others) {} }
        let departures = (0..<1_000).compactMap { durable.take($0) }
        let taken = isOfRoute ? 4 : 2
        #expect(departures.count == taken)
        var statistics = durable.context.statistics
        durable.sender.add(to: &statistics)
        #expect(statistics.waitingToSend == taken && statistics.dropped == 1_000 - taken)
        durable.sender.abandon()
    }

    @MainActor @Test func placeThatIsFreeIsGivenToOneWhoWaits() async throws {
        let durable = Durable(.quick.with { $0.buffer.messages = 16 })
        for _ in 0..<2 { try await durable.sender.reserve(for: "shop.number") }
        let granted = Recorder<Int>()
        let waiting = (0..<3).map { number in
            Task { @MainActor in
                try await durable.sender.reserve(for: "shop.number")
                granted.record(number)
            }
        }
        await others()
        #expect(granted.count == 0)
        durable.sender.giveBackPlace()
        await others()
        #expect(granted.count == 1)
        // A message is posted with it: its place is taken as long as the message waits.
        let departure = try #require(durable.sender.postReserved(at: .current) { durable.take(1) })
        #expect(departure.isReserved)
        await others()
        #expect(granted.count == 1)
        #expect(durable.take(2) == nil)
        durable.sender.abandon()
        var closed = 0
        for task in waiting {
            do { try await task.value } catch { closed += code(error) == .closed ? 1 : 0 }
        }
        #expect(closed == 2)
    }

    /// Nor is the place used by what a listener or an interceptor posts because of that.
    @Test func placeThatNoMessageTookReturnsWhenThePostHasEnded() async throws {
        let durable = Durable(.quick.with { $0.buffer.messages = 8 })
        try await durable.sender.reserve(for: "shop.number")
        #expect(durable.sender.postReserved { durable.take(1) } == nil)
        let departure = durable.take(2)
        #expect(departure != nil && departure?.isReserved == false)
    }

    @MainActor @Test(arguments: [false, true]) func finishingWaitsForThoseWhoHoldAPlace(posts: Bool) async throws {
        let durable = Durable()
        try await durable.sender.reserve(for: "shop.number")
        let order = Recorder<String>()
        let finishing = Task { @MainActor in
            await durable.sender.finish()
            order.record("finished")
        }
        await others()
        // One without a place is told why.
        #expect(durable.take(1) == nil)
        order.record("posted")
        let departure = durable.sender.postReserved(at: .current) { posts ? durable.take(2) : nil }
        #expect((departure != nil) == posts)
        durable.sender.work()
        if let departure {
            await durable.transport.attempts.first(1)[0].end(nil)
            try await durable.sender.send(departure)
        }
        await finishing.value
        #expect(order.all == ["posted", "finished"])
    }

    @MainActor @Test func whatComesAfterGivingUpIsRefusedBecauseTheBridgeHasEnded() async throws {
        let durable = Durable()
        try await durable.sender.reserve(for: "shop.number")
        durable.sender.abandon()
        await durable.sender.finish()
        #expect(durable.sender.postReserved(at: .current) { durable.take(1) } == nil)
        #expect(durable.sender.isAbandoned)
    }

    /// Also where the broker is away, and there is no room for long.
    @MainActor @Test func whoIsCancelledWhileItWaitsForAPlaceTakesUpNothing() async throws {
        let durable = Durable(.quick.with { $0.buffer.messages = 8 })
        try await durable.sender.reserve(for: "shop.number")
        let waiting = (0..<3).map { _ in Task { @MainActor in try await durable.sender.reserve(for: "shop.number") } }
        await others()
        for task in waiting[..<2] {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        durable.sender.giveBackPlace()
        try await waiting[2].value
        durable.sender.giveBackPlace()
        #expect(durable.take(1) != nil)
        durable.sender.abandon()
    }

    /// No message was taken, so that nothing is published.
    @MainActor @Test func givingUpTellsWhoWaitsForAPlace() async throws {
        let durable = Durable(.quick.with { $0.buffer.messages = 8 })
        try await durable.sender.reserve(for: "shop.number")
        let waiting = Task { @MainActor in try await durable.sender.reserve(for: "shop.number") }
        await others()
        durable.sender.abandon()
        await #expect { try await waiting.value } throws: { code($0) == .closed }
    }

    // MARK: Messages that are not durable

    @Test func whatTheBridgeHasNoRoomForIsDroppedAndCounted() throws {
        let context = BridgeContext(FedTransport(), .quick.with { $0.buffer.messages = 4 })
        let sender = PromptSender(context, Packaging(context))
        let departures = (0..<5).compactMap { sender.take($0, postedTo: "shop.number") }
        #expect(departures.count == 2 && context.outgoing.messages == 2 && context.statistics.dropped == 3)
    }

    @Test func senderThatHasGivenUpTakesNothing() throws {
        let context = BridgeContext(FedTransport(), .quick)
        let sender = PromptSender(context, Packaging(context))
        #expect(sender.take(1, postedTo: "shop.number") != nil)
        sender.abandon()
        #expect(sender.take(1, postedTo: "shop.number") == nil)
    }

    @MainActor @Test func finishingWaitsForWhatIsBeingSentAndNotForWhatIsDiscarded() async throws {
        let context = BridgeContext(FedTransport(), .quick)
        let sender = PromptSender(context, Packaging(context))
        let departure = try #require(sender.take(1, postedTo: "shop.number"))
        var discarded = sender.take(2, postedTo: "shop.number")
        #expect(discarded != nil)
        let order = Recorder<String>()
        let finishing = Task { @MainActor in
            await sender.finish()
            order.record("finished")
        }
        await others()
        sender.abandon()
        discarded = nil
        await others()
        order.record("discarded")
        context.isReady.open()
        try await sender.send(departure)
        await finishing.value
        #expect(order.all == ["discarded", "finished"])
        #expect(sender.take(3, postedTo: "shop.number") == nil)
    }
}

extension BridgeContext {
    convenience init(
        _ transport: any Transport,
        _ configuration: BridgeConfiguration,
        _ routes: [BridgeRoute] = [],
        onFault: @escaping @Sendable (Fault) -> Void = { _ in }
    ) {
        self.init(
            BridgeRecord(
                name: "till",
                switchboard: Switchboard(onFault: onFault),
                transport: transport,
                configuration: configuration,
                onDeadLetter: nil,
                source: "till"
            ),
            routes.flatMap(\.parts)
        )
    }
}

extension Packaging {
    /// Of numbers.
    init(_ context: BridgeContext) {
        self.init(context, MessageFormat(typeName: "Int", codec: JSONCodec())) { message, _ in Array("\(message)".utf8)
        }
    }
}
