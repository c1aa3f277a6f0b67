import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct InMemoryTransportTests {
    @Test(arguments: TransportConformance.checks)
    func inMemoryTransportConforms(to check: TransportConformance.Check) async {
        let broker = InMemoryBroker()
        let suite = TransportConformance(timeout: .patience) { transport, body in
            // The suite hands back what it was given below.
            let transport = transport as! InMemoryTransport
            transport.breakConnection()
            try await body()
            transport.restoreConnection()
        } makeTransport: {
            InMemoryTransport(broker)
        }
        let outcome = await suite.run(check)
        // A broker in memory has neither storage that could go back nor transactions.
        let isPossible = check.requirement != .rollBack && check.requirement != .transactions
        #expect(outcome.isAcceptable && (outcome.skipped == nil) == isPossible, "\(outcome)")
    }

    @Test func bodyMayBeAsLongAsTheLimitAndNoLonger() async throws {
        let broker = InMemoryBroker(limits: .init(bodyLimit: 10))
        let transport = try await connectedTransport(broker)
        for durable in [false, true] {
            let message = try TransportMessage(subject: "n", body: [UInt8](repeating: 0, count: 10))
            try await transport.publish(message, durable: durable)
            let larger = try TransportMessage(subject: "n", body: [UInt8](repeating: 0, count: 11))
            await #expect { try await transport.publish(larger, durable: durable) } throws: {
                ($0 as? BridgeError)?.code == .payloadTooLarge
            }
        }
    }

    /// Whoever asks is told, and not left to wait until its time is over.
    @Test(arguments: [true, false]) func requestsUnderWayFailWithTheirConnection(isClosed: Bool) async throws {
        let broker = InMemoryBroker()
        let (shop, till) = (try await connectedTransport(broker), try await connectedTransport(broker))
        let requests = Recorder<InboundRequest>()
        try await shop.respond(to: "price") { requests.record($0) }
        let message = try TransportMessage(subject: "price", body: [])
        let asking = (0..<3).map { _ in Task { try await till.request(message, timeout: .seconds(10_000)) } }
        _ = await requests.first(3)
        if isClosed { try await till.close(timeout: .zero) } else { till.breakConnection() }
        for task in asking {
            await #expect { try await task.value } throws: {
                ($0 as? BridgeError)?.code == (isClosed ? .closed : .notConnected)
            }
        }
        // Too late.
        for request in requests.all { request.reply(TransportReply(body: [])) }
    }

    @Test func messageRetriedWithoutADelayComesAgainAtOnceAndInTurn() async throws {
        let clock = ManualClock()
        let transport = try await connectedTransport(InMemoryBroker(clock: clock))
        let heard = Recorder<InboundMessage>()
        try await transport.subscribe(to: "n", durableName: "reader") { heard.record($0) }
        for number in 0..<2 {
            try await transport.publish(TransportMessage(subject: "n", body: [UInt8(number)]), durable: true)
        }
        heard.all[0].settle?(.retry(after: .zero))
        #expect(heard.all.map(\.message.body) == [[0], [1], [0]] && heard.all.map(\.deliveryCount) == [1, 1, 2])
        #expect(clock.sleeps.count == 0)
        heard.all[1].settle?(.retry(after: .seconds(1)))
        _ = await clock.sleeps.first(1)
        #expect(heard.count == 3)
        clock.advance(by: .seconds(1))
        #expect(await heard.first(4).last?.message.body == [1])
    }

    @Test(arguments: [true, false]) func aMessageThatWaitsToBeRetriedIsUnsettledAndGoesToTheNextMember(isClosed: Bool)
        async throws
    {
        let clock = ManualClock()
        let broker = InMemoryBroker(clock: clock)
        let (first, next) = (try await connectedTransport(broker), try await connectedTransport(broker))
        try await first.subscribe(to: "n", durableName: "reader") { $0.settle?(.retry(after: .seconds(3_600))) }
        try await next.publish(TransportMessage(subject: "n", body: [1]), durable: true)
        _ = await clock.sleeps.first(1)
        #expect(try await next.unsettledCount(of: "reader", on: "n") == 1)
        let heard = Recorder<Int>()
        try await next.subscribe(to: "n", durableName: "reader") { message in
            heard.record(message.deliveryCount)
            message.settle?(.acknowledged)
        }
        if isClosed { try await first.close(timeout: .zero) } else { first.breakConnection() }
        #expect(heard.all == [2])
        // The delay of the first delivery does not bring it again.
        clock.advance(by: .seconds(3_600))
        #expect(try await next.unsettledCount(of: "reader", on: "n") == 0)
    }

    @Test func nothingReachesABrokenConnectionButWhatIsKeptForIt() async throws {
        let broker = InMemoryBroker()
        let (reader, sender) = (try await connectedTransport(broker), try await connectedTransport(broker))
        let heard = Recorder<String>()
        try await reader.subscribe(to: "n") { _ in heard.record("message") }
        try await reader.subscribe(to: "n", durableName: "reader") { message in
            heard.record("durable message")
            message.settle?(.acknowledged)
        }
        try await reader.watch("n") { heard.record("value \($0.revision > 0)") }
        try await reader.respond(to: "n") { request in
            heard.record("request")
            request.reply(TransportReply(body: []))
        }
        let message = try TransportMessage(subject: "n", body: [])
        reader.breakConnection()
        try await sender.publish(message, durable: false)
        try await sender.publish(message, durable: true)
        _ = try await sender.store(message)
        await #expect { try await sender.request(message, timeout: .patience) } throws: {
            ($0 as? BridgeError)?.code == .noResponder
        }
        #expect(heard.count == 0)
        reader.restoreConnection()
        #expect(heard.all == ["durable message", "value true"])
        _ = try await sender.request(message, timeout: .patience)
        #expect(heard.all.last == "request")
    }

    @Test func requestsGoToTheRespondersInTurn() async throws {
        let broker = InMemoryBroker()
        let asker = try await connectedTransport(broker)
        let answered = Recorder<Int>()
        var responders: [InMemoryTransport] = []
        for number in 0..<3 {
            let responder = try await connectedTransport(broker)
            try await responder.respond(to: "n") { request in
                answered.record(number)
                request.reply(TransportReply(body: []))
            }
            responders.append(responder)
        }
        let message = try TransportMessage(subject: "n", body: [])
        for _ in 0..<6 { _ = try await asker.request(message, timeout: .patience) }
        #expect(Set(answered.all.prefix(3)).count == 3 && answered.all.prefix(3) == answered.all.suffix(3))
        withExtendedLifetime(responders) {}
    }

    /// One turn for all of them would give each of these every message to the same one.
    @Test func eachGroupAndEachSubjectHasATurnOfItsOwn() async throws {
        let broker = InMemoryBroker()
        let sender = try await connectedTransport(broker)
        let heard = Recorder<String>()
        var members: [InMemoryTransport] = []
        for number in 0..<2 {
            let member = try await connectedTransport(broker)
            for group in ["a", "b"] {
                let pattern = try ChannelPattern(validating: "\(group).*")
                try await member.subscribe(TransportSubscription(to: pattern, group: group)) { _ in
                    heard.record("\(group)\(number)")
                }
                try await member.respond(to: "ask.\(group)") { request in
                    heard.record("ask.\(group)\(number)")
                    request.reply(TransportReply(body: []))
                }
            }
            members.append(member)
        }
        for _ in 0..<4 {
            for group in ["a", "b"] {
                let asked = try TransportMessage(subject: "ask.\(group)", body: [])
                _ = try await sender.request(asked, timeout: .patience)
                try await sender.publish(TransportMessage(subject: "\(group).n", body: []), durable: false)
            }
        }
        let counts = Dictionary(grouping: await heard.wait(count: 16)) { $0 }.mapValues(\.count)
        #expect(counts.count == 8 && counts.values.allSatisfy { $0 == 2 }, "\(counts)")
        withExtendedLifetime(members) {}
    }

    @Test func aNameThatSubscribesLaterGetsTheLastMessagesStored() async throws {
        for (limit, expected) in [(3, [2, 3, 4] as [UInt8]), (0, [])] {
            let broker = InMemoryBroker(limits: .init(replayedMessages: limit))
            let transport = try await connectedTransport(broker)
            #expect(transport.capabilities.contains(.replay) == (limit > 0))
            for number: UInt8 in 0..<5 {
                try await transport.publish(TransportMessage(subject: "n", body: [number]), durable: true)
            }
            let heard = Recorder<UInt8>()
            try await transport.subscribe(to: "n", durableName: "late") { message in
                heard.record(message.message.body[0])
                message.settle?(.acknowledged)
            }
            #expect(heard.all == expected)
            try await transport.close(timeout: .zero)
        }
    }

    @Test func nothingOfABrokerIsLeftWhenNobodyHasItAnyMore() async throws {
        let clock = ManualClock()
        do {
            let transport = try await connectedTransport(InMemoryBroker(clock: clock))
            try await transport.subscribe(to: "n", durableName: "reader") { $0.settle?(.retry(after: .seconds(1))) }
            for _ in 0..<3 { try await transport.publish(TransportMessage(subject: "n", body: []), durable: true) }
            _ = await clock.sleeps.first(3)
        }
        // What was to come again later does not.
        await wait(for: clock.sleeperCount) { $0 <= 0 }
    }

    @Test func whatAClosedTransportHadIsGivenUp() async throws {
        let broker = InMemoryBroker(limits: .init(replayedMessages: 10))
        let transport = InMemoryTransport(broker)
        weak var held: Object?
        do {
            let object = Object()
            held = object
            try await transport.connect { _ in withExtendedLifetime(object) {} }
            try await transport.subscribe(to: "n") { _ in withExtendedLifetime(object) {} }
            try await transport.subscribe(to: "n", durableName: "reader") { _ in withExtendedLifetime(object) {} }
            try await transport.respond(to: "n") { _ in withExtendedLifetime(object) {} }
            try await transport.watch("n") { _ in withExtendedLifetime(object) {} }
        }
        #expect(held != nil)
        transport.breakConnection()
        try await transport.publish(TransportMessage(subject: "n", body: []), durable: false)
        await #expect { try await transport.close(timeout: .zero) } throws: {
            ($0 as? BridgeError)?.code == .closingTimedOut
        }
        #expect(held == nil)
        // What was lost is told once, and is not sent on the next connection.
        try await transport.close(timeout: .zero)
        try await transport.connect { _ in }
        let heard = Recorder<InboundMessage>()
        try await transport.subscribe(to: "n") { heard.record($0) }
        transport.breakConnection()
        transport.restoreConnection()
        #expect(heard.count == 0)
        try await transport.close(timeout: .zero)
    }

    private final class Object: Sendable {}
}
