#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import TestSupport
import Testing

/// Messages that go from a file to a broker.
@Suite(.hangLimit)
struct RelayTests {
    private let file = TemporaryFile()

    @Test func aRelayHandsOnInOrderAndContinuesAfterAnOutage() async throws {
        let broker = InMemoryBroker(limits: .init(replayedMessages: 1_000))
        let (receiver, heard) = try await receiver(at: broker)
        let target = InMemoryTransport(broker)
        let sender = try await file.connected()
        for number in 0..<50 { try await sender.publish(message("\(number)", id: "id-\(number)"), durable: true) }
        let failures = Recorder<BridgeError>()
        let relay = Relay(
            from: SQLiteTransport(path: file.path),
            to: target,
            matching: "shop.>",
            onFailure: { failures.record($0) }
        )
        .waiting(Backoff(first: .milliseconds(1), limit: .milliseconds(10)))
        let running = Task { try await relay.run() }
        await heard.wait(count: 50)
        target.breakConnection()
        for number in 50..<60 { try await sender.publish(message("\(number)", id: "id-\(number)"), durable: true) }
        await failures.wait(count: 1)
        target.restoreConnection()
        await heard.wait(count: 60)
        #expect(heard.all.map(text) == (0..<60).map(String.init))
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    @Test func aRelayTellsWhatItIsDoingWhatFailedAndItsLag() async throws {
        let broker = InMemoryBroker()
        let (receiver, heard) = try await receiver(at: broker)
        let target = InMemoryTransport(broker)
        let sender = try await file.connected()
        let relay = Relay(
            from: SQLiteTransport(path: file.path),
            to: target
        )
        .waiting(Backoff(first: .milliseconds(1), limit: .milliseconds(10)))
        #expect(relay.status.value.phase == .created)
        let running = Task { try await relay.run() }
        _ = await relay.status.first { $0.isReady }
        target.breakConnection()
        _ = await relay.status.first { $0.phase == .reconnecting }
        for number in 0..<3 { try await sender.publish(message("\(number)"), durable: true) }
        while relay.statistics.failed == 0 { await Task.yield() }
        let status = try #require(try await relay.storeStatus().first)
        let lag = try #require(status.names.first { $0.name == relay.name })
        #expect(lag.waiting + lag.unsettled == 3 && lag.oldestAge != nil && lag.processes == 1)
        #expect(status.deadLetters == 0)
        target.restoreConnection()
        await heard.wait(count: 3)
        _ = await relay.status.first { $0.isReady && $0.reason == nil }
        // The receiver has it before the relay is told.
        while relay.statistics.sent < 3 { await Task.yield() }
        #expect(relay.statistics.sent == 3 && relay.statistics.retried > 0 && relay.statistics.refused == 0)
        running.cancel()
        _ = await running.result
        #expect(relay.status.value.phase == .ended)
        await #expect(throws: BridgeError.self) { try await relay.storeStatus() }
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    /// A stream that is missing or full, and a permission, may come back.
    @Test(arguments: [BridgeError.Code.notStored, .permissionDenied, .bufferFull, .unsupported])
    func whatTheOtherDoesNotTakeForNowWaits(_ code: BridgeError.Code) async throws {
        let target = PickyTransport(refuses: "shop.secret", code)
        let (receiver, heard) = try await receiver(at: target.broker)
        let sender = try await file.connected()
        for number in 1...3 { try await sender.publish(message("\(number)", to: "shop.secret"), durable: true) }
        let failures = Recorder<BridgeError>()
        let backoff = Backoff(first: .milliseconds(1), limit: .milliseconds(10))
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target) { failures.record($0) }.waiting(backoff)
        let running = Task { try await relay.run() }
        _ = await failures.wait(count: 3)
        #expect(failures.all.allSatisfy { $0.code == code } && relay.status.value.reason?.code == code)
        target.refused.withLock { $0 = nil }
        #expect(await heard.wait(count: 3).map(text) == ["1", "2", "3"])
        _ = await relay.status.first { $0.reason == nil }
        #expect(relay.statistics.refused == 0)
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    @Test func messagesOnOtherSubjectsGoOnMeanwhile() async throws {
        let target = PickyTransport(refuses: "shop.secret", .permissionDenied)
        let (receiver, heard) = try await receiver(at: target.broker)
        let sender = try await file.connected()
        let failures = Recorder<BridgeError>()
        // Nobody waits for its end.
        let backoff = Backoff(first: .seconds(3_600), limit: .seconds(3_600))
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target) { failures.record($0) }.waiting(backoff)
        let running = Task { try await relay.run() }
        try await sender.publish(message("plan", to: "shop.secret"), durable: true)
        _ = await failures.wait(count: 1)
        for text in ["soup", "cake"] { try await sender.publish(message(text), durable: true) }
        #expect(await heard.wait(count: 2).map(text) == ["soup", "cake"])
        #expect(relay.status.value.reason?.code == .permissionDenied && failures.count == 1)
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    @Test(arguments: [BridgeError.Code.authenticationFailed, .certificateRejected])
    func aRelayEndsByWhatWaitingCannotMend(_ code: BridgeError.Code) async throws {
        let target = PickyTransport(refuses: nil, .refused)
        target.connects.withLock { $0 = BridgeError(code) }
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target)
        let error = await #expect(throws: BridgeError.self) { try await relay.run() }
        #expect(error?.code == code && relay.status.value.phase == .ended)
    }

    /// It is put back when the other takes it, and then no durable name there is left out.
    @Test func whatTheOtherRefusesIsALetterAndTheRestGoesOn() async throws {
        let target = PickyTransport(refuses: "shop.secret", .payloadTooLarge)
        let (receiver, heard) = try await receiver(at: target.broker)
        let sender = try await file.connected()
        try await sender.publish(message("soup"), durable: true)
        try await sender.publish(message("plan", to: "shop.secret", id: "plan"), durable: true)
        try await sender.publish(message("cake"), durable: true)
        let failures = Recorder<BridgeError>()
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target) { failures.record($0) }
        let running = Task { try await relay.run() }
        #expect(await heard.wait(count: 2).map(text) == ["soup", "cake"])
        #expect(await failures.wait(count: 1).map(\.code) == [.payloadTooLarge])
        // The failure is reported before the letter is stored.
        while try await relay.storeStatus().first?.deadLetters != 1 { await Task.yield() }
        target.refused.withLock { $0 = nil }
        let box = DeadLetterBox("dead")
        #expect(try await box.putBack(over: SQLiteTransport(path: file.path), atMost: 1) == 1)
        let last = await heard.wait(count: 3)[2]
        #expect(text(last) == "plan" && last.headers["dead-letter-name"] == nil)
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    /// Also where there is no room for its letter.
    @Test(arguments: [true, false]) func whatIsTooLargeForTheOtherHoldsUpNothing(hasRoom: Bool) async throws {
        let broker = InMemoryBroker(limits: .init(bodyLimit: 1_000))
        let (receiver, heard) = try await receiver(at: broker)
        let full = PickyTransport(refuses: "dead.shop.sold", .bufferFull)
        let source: any Transport = hasRoom ? SQLiteTransport(path: file.path) : full
        let sender: any Transport = hasRoom ? SQLiteTransport(path: file.path) : InMemoryTransport(full.broker)
        try await sender.connect { _ in }
        for text in ["soup", String(repeating: "x", count: 2_000), "cake"] {
            try await sender.publish(message(text), durable: true)
        }
        let failures = Recorder<BridgeError>()
        let relay = Relay(from: source, to: InMemoryTransport(broker)) { failures.record($0) }
        let running = Task { try await relay.run() }
        #expect(await heard.wait(count: 2).map(text) == ["soup", "cake"])
        let codes: [BridgeError.Code] = hasRoom ? [.payloadTooLarge] : [.payloadTooLarge, .bufferFull]
        #expect(await failures.wait(count: codes.count).map(\.code) == codes)
        try await sender.publish(message("tea"), durable: true)
        #expect(await heard.wait(count: 3).map(text).last == "tea")
        #expect(relay.statistics.refused == (hasRoom ? 1 : 0))
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    /// They are for those who read the source, as is a message that was put back for one of them.
    @Test func deadLettersOfAnybodyAndWhatIsPutBackForAnotherNameStayAtTheSource() async throws {
        let (broker, heard) = (InMemoryBroker(), Recorder<String>())
        let receiver = InMemoryTransport(broker)
        try await receiver.connect { _ in }
        try await receiver.subscribe(to: ">", durableName: "far") { heard.record(text($0.message)) }
        let sender = try await file.connected()
        let letter = try TransportMessage(
            subject: "dead.shop.sold",
            headers: ["dead-letter-subject": "shop.sold", "dead-letter-name": "kitchen"],
            body: Array("letter".utf8)
        )
        try await sender.publish(letter, durable: true)
        var putBack = try message("put back")
        try putBack.headers.set("kitchen", for: "dead-letter-name")
        try await sender.publish(putBack, durable: true)
        try await sender.publish(message("soup"), durable: true)
        let relay = Relay(from: SQLiteTransport(path: file.path), to: InMemoryTransport(broker))
        let running = Task { try await relay.run() }
        #expect(await heard.wait(count: 1) == ["soup"])
        running.cancel()
        _ = await running.result
        #expect(heard.all == ["soup"])
        #expect(try await sender.unsettledCount(of: relay.name, on: ">") == 0)
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    @Test(arguments: [BridgeError.Code.authenticationFailed, nil])
    func aRelayEndsWithTheReasonOfAConnectionThatHasEnded(_ code: BridgeError.Code?) async throws {
        let target = PickyTransport(refuses: nil, .refused)
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target)
        let running = Task { try await relay.run() }
        _ = await relay.status.first { $0.isReady }
        target.onEvent.withLock { $0 }?(.closed(reason: code.map { BridgeError($0) }))
        let error = await #expect(throws: BridgeError.self) { try await running.value }
        #expect(error?.code == code ?? .closed && relay.status.value.phase == .ended)
        #expect(relay.status.value.reason?.code == error?.code)
    }

    @Test func aRelayEndsByAnErrorThatRepeatingCannotResolve() async throws {
        let target = PickyTransport(refuses: "shop.sold", .closed)
        let sender = try await file.connected()
        try await sender.publish(message("soup"), durable: true)
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target)
        let error = await #expect(throws: BridgeError.self) { try await relay.run() }
        #expect(error?.code == .closed && relay.status.value.reason?.code == .closed)
        // The message is there for the next run.
        #expect(try await sender.unsettledCount(of: relay.name, on: ">") == 1)
        try await sender.close(timeout: .patience)
    }

    @Test func anErrorThatIsNoBridgeErrorIsAnOutage() async throws {
        struct Foreign: Error {}
        let (target, heard) = (PickyTransport(refuses: nil, .refused), Recorder<String>())
        let receiver = InMemoryTransport(target.broker)
        try await receiver.connect { _ in }
        try await receiver.subscribe(to: "shop.>", durableName: "far") { heard.record(text($0.message)) }
        target.thrown.withLock { $0 = Foreign() }
        target.connects.withLock { $0 = Foreign() }
        let sender = try await file.connected()
        try await sender.publish(message("soup"), durable: true)
        let failures = Recorder<BridgeError>()
        let backoff = Backoff(first: .milliseconds(1), limit: .milliseconds(10))
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target) { failures.record($0) }.waiting(backoff)
        let running = Task { try await relay.run() }
        await failures.wait(count: 1)
        target.connects.withLock { $0 = nil }
        _ = await relay.status.first { $0.isReady && $0.reason != nil }
        target.thrown.withLock { $0 = nil }
        #expect(await heard.wait(count: 1) == ["soup"])
        #expect(failures.all.allSatisfy { $0.code == .transportFailure && $0.underlyingError is Foreign })
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    /// Nobody waits for the end of its pause, which is an hour.
    @Test func aRelayTriesAgainAtOnceWhenTheTargetIsBack() async throws {
        let (broker, heard) = (InMemoryBroker(), Recorder<String>())
        let receiver = InMemoryTransport(broker)
        try await receiver.connect { _ in }
        try await receiver.subscribe(to: "shop.>", durableName: "far") { heard.record(text($0.message)) }
        let (target, sender, failures) = (
            InMemoryTransport(broker), try await file.connected(), Recorder<BridgeError>()
        )
        let backoff = Backoff(first: .seconds(3_600), limit: .seconds(3_600))
        let relay = Relay(from: SQLiteTransport(path: file.path), to: target) { failures.record($0) }.waiting(backoff)
        let running = Task { try await relay.run() }
        _ = await relay.status.first { $0.isReady }
        target.breakConnection()
        try await sender.publish(message("soup"), durable: true)
        await failures.wait(count: 1)
        target.restoreConnection()
        #expect(await heard.wait(count: 1) == ["soup"])
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    /// A stream may come back without a word from its server.
    @Test func aRelayPausesNoLongerThanASecond() {
        let relay = Relay(from: SQLiteTransport(path: file.path), to: InMemoryTransport(InMemoryBroker()))
        #expect(relay.backoff.delay(before: 100) == .seconds(1))
    }

    @Test func aSecondRunIsRefusedAndTheFirstGoesOn() async throws {
        let (broker, heard) = (InMemoryBroker(), Recorder<String>())
        let receiver = InMemoryTransport(broker)
        try await receiver.connect { _ in }
        try await receiver.subscribe(to: "shop.>", durableName: "far") { heard.record(text($0.message)) }
        let sender = try await file.connected()
        let relay = Relay(from: SQLiteTransport(path: file.path), to: InMemoryTransport(broker))
        let running = Task { try await relay.run() }
        _ = await relay.status.first { $0.isReady }
        let error = await #expect(throws: BridgeError.self) { try await relay.run() }
        #expect(error?.code == .alreadyRunning && relay.status.value.isReady)
        try await sender.publish(message("soup"), durable: true)
        #expect(await heard.wait(count: 1) == ["soup"])
        running.cancel()
        _ = await running.result
        try await sender.close(timeout: .patience)
        try await receiver.close(timeout: .patience)
    }

    @Test(arguments: [true, false]) func aRelayLeavesOpenATransportThatSomebodyElseUses(isTarget: Bool) async throws {
        let (used, own) = (InMemoryTransport(InMemoryBroker()), SQLiteTransport(path: file.path))
        try await used.connect { _ in }
        let relay = isTarget ? Relay(from: own, to: used) : Relay(from: used, to: own)
        let error = await #expect(throws: BridgeError.self) { try await relay.run() }
        #expect(error?.code == .alreadyRunning)
        try await used.publish(message("soup"), durable: true)
        // Its own is closed.
        try await own.connect { _ in }
        try await own.close(timeout: .patience)
        try await used.close(timeout: .patience)
    }

    /// As long as it is, all messages would be refused.
    @Test func whatCanBeChangedAtTheBrokerConcernsNoMessage() {
        for code in [BridgeError.Code.permissionDenied, .unsupported, .notStored, .bufferFull, .notAcknowledged] {
            #expect(code.disposition != .leaveOut)
        }
        #expect(BridgeError.Code.refused.disposition == .leaveOut)
    }

    /// A process at the target, and what it hears.
    private func receiver(at broker: InMemoryBroker) async throws -> (InMemoryTransport, Recorder<TransportMessage>) {
        let (receiver, heard) = (InMemoryTransport(broker), Recorder<TransportMessage>())
        try await receiver.connect { _ in }
        try await receiver.subscribe(to: "shop.>", durableName: "far") { message in
            heard.record(message.message)
            message.settle?(.acknowledged)
        }
        return (receiver, heard)
    }

    private func text(_ message: TransportMessage) -> String { String(decoding: message.body, as: UTF8.self) }
}

extension Relay {
    /// The relay with other pauses between attempts.
    fileprivate func waiting(_ backoff: Backoff) -> Relay {
        var relay = self
        relay.backoff = backoff
        return relay
    }
}
#endif
