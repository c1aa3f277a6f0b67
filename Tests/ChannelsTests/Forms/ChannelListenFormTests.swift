import Channels
import Dispatch
import Testing

/// Every form of `listen` on an owner without isolation, and without an owner.
struct ChannelListenFormTests {
    let channel = Channel<Int>(onFault: { _ in })
    let owner = FormListener()
    let sender = FormListener()

    // MARK: Synchronous

    @Test func ownerAndMessage() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        #expect(channel.post(1) == 1)
        #expect(owner.heard.all == ["1"])
    }

    @Test func ownerMessageAndInfo() {
        channel.listen(owner, priority: .high) { me, number, info in
            me.hear("\(number) \(info.sender === me) \(info.sender == nil) \(info.channelName ?? "-") \(info.origin)")
        }
        #expect(channel.post(1, from: owner) == 1)
        #expect(channel.post(2) == 1)
        #expect(channel.post(3, from: sender) == 1)
        #expect(owner.heard.all == ["1 true false - local", "2 false true - local", "3 false false - local"])
    }

    @Test func ownerMessageAndContext() {
        for row in 0..<3 {
            channel.listen(owner, context: row) { me, number, row in me.hear("\(number) in \(row)") }
        }
        channel.listen(owner, context: "text", priority: .high) { me, number, text in me.hear("\(number) in \(text)") }
        #expect(channel.post(7) == 4)
        #expect(owner.heard.all == ["7 in text", "7 in 0", "7 in 1", "7 in 2"])
    }

    @Test func shorthandArguments() {
        channel.listen(owner) { $0.hear("\($1)") }
        channel.listen(owner) { $0.hear("\($1) \($2.origin)") }
        channel.listen(owner, context: 5) { $0.hear("\($1 + $2)") }
        let token = channel.listen { [owner] in owner.hear("\($0 * 10)") }
        let informed = channel.listen { [owner] in owner.hear("\($0 * 100) \($1.origin)") }
        #expect(channel.post(1) == 5)
        #expect(owner.heard.all == ["1", "1 local", "6", "10", "100 local"])
        withExtendedLifetime((token, informed)) {}
    }

    @Test func ignoredMessage() {
        channel.listen(owner) { me, _ in me.hear("heard") }
        channel.listen(owner) { me, _, _ in me.hear("heard with info") }
        #expect(channel.post(1) == 2)
        #expect(owner.heard.all == ["heard", "heard with info"])
    }

    @Test func bodyOfSeveralStatements() {
        channel.listen(owner) { me, number in
            let doubled = number * 2
            if doubled > 2 {
                me.hear("many")
            } else {
                me.hear("\(doubled)")
            }
        }
        channel.post(1)
        channel.post(2)
        #expect(owner.heard.all == ["2", "many"])
    }

    @Test func ownerlessListenerLivesAsLongAsItsToken() {
        var token: ListenerToken? = channel.listen { [owner] number in owner.hear("\(number)") }
        #expect(token?.isActive == true)
        #expect(channel.post(1) == 1)
        token = nil
        #expect(channel.post(2) == 0)
        #expect(owner.heard.all == ["1"])
        let informed = channel.listen(priority: 3) { [owner] number, info in
            owner.hear("\(number) \(info.sender === owner)")
        }
        #expect(channel.post(3, from: owner) == 1)
        #expect(owner.heard.all == ["1", "3 true"])
        withExtendedLifetime(informed) {}
    }

    // MARK: Throwing

    @Test func throwingBodies() async {
        channel.listen(owner) { me, number in try me.hearOrThrow("a\(number)") }
        channel.listen(owner) { me, number, info in try me.hearOrThrow("b\(number) \(info.origin)") }
        channel.listen(owner, context: "c") { me, number, text in try me.hearOrThrow("\(text)\(number)") }
        let plain = channel.listen { [owner] number in try owner.hearOrThrow("d\(number)") }
        let informed = channel.listen { [owner] number, _ in try owner.hearOrThrow("e\(number)") }
        #expect(channel.post(1) == 5)
        #expect(owner.heard.all == ["a1", "b1 local", "c1", "d1", "e1"])
        let report = await channel.postAndWait(2)
        #expect(report.reached == 5)
        #expect(report.completed == 0)
        #expect(report.failures.map { ($0.error as? FormError)?.text } == ["a2", "b2 local", "c2", "d2", "e2"])
        #expect(report.failures.map(\.ownerType) == ["FormListener", "FormListener", "FormListener", nil, nil])
        #expect(report.failures.allSatisfy { $0.registrationSite.fileID == #fileID })
        withExtendedLifetime((plain, informed)) {}
    }

    // MARK: Async

    @Test func asyncBodies() async {
        channel.listen(owner) { me, number in await me.hearLater("a\(number)") }
        channel.listen(owner) { me, number, info in await me.hearLater("b\(number) \(info.sender === me)") }
        channel.listen(owner, context: "c") { me, number, text in await me.hearLater("\(text)\(number)") }
        let plain = channel.listen { [owner] number in await owner.hearLater("d\(number)") }
        let informed = channel.listen { [owner] number, info in await owner.hearLater("e\(number) \(info.origin)") }
        let report = await channel.postAndWait(1, from: owner)
        #expect(report.reached == 5)
        #expect(report.completed == 5)
        #expect(report.isComplete)
        #expect(owner.heard.all.sorted() == ["a1", "b1 true", "c1", "d1", "e1 local"])
        withExtendedLifetime((plain, informed)) {}
    }

    @Test func asyncThrowingBodies() async {
        channel.listen(owner) { me, number in try await me.hearLaterOrThrow("a\(number)") }
        channel.listen(owner) { me, number, info in try await me.hearLaterOrThrow("b\(number) \(info.origin)") }
        channel.listen(owner, context: "c") { me, number, text in try await me.hearLaterOrThrow("\(text)\(number)") }
        let plain = channel.listen { [owner] number in try await owner.hearLaterOrThrow("d\(number)") }
        let informed = channel.listen { [owner] number, _ in try await owner.hearLaterOrThrow("e\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.reached == 5)
        #expect(
            report.failures.compactMap { ($0.error as? FormError)?.text }.sorted() == [
                "a1", "b1 local", "c1", "d1", "e1",
            ]
        )
        withExtendedLifetime((plain, informed)) {}
    }

    @Test func asyncListenersTakePriorityAndBuffering() async {
        let token = channel.listen(owner, priority: .low, buffering: .newest(8)) { me, number in
            await me.hearLater("low \(number)")
        }
        channel.listen(owner, context: 2, priority: .high, buffering: .oldest(8)) { me, number, two in
            await me.hearLater("\(number * two)")
        }
        let report = await channel.postAndWait(4)
        #expect(report.completed == 2)
        #expect(owner.heard.all.sorted() == ["8", "low 4"])
        #expect(token.deliveredCount == 1)
    }

    // MARK: On a queue

    @Test func queueForms() async {
        let queue = DispatchQueue(label: "forms")
        channel.listen(owner, on: queue) { me, number in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("a\(number)")
        }
        channel.listen(owner, on: queue) { me, number, info in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("b\(number) \(info.sender === me)")
        }
        channel.listen(owner, context: "c", on: queue) { me, number, text in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("\(text)\(number)")
        }
        let plain = channel.listen(on: queue) { [owner] number in
            dispatchPrecondition(condition: .onQueue(queue))
            owner.hear("d\(number)")
        }
        let informed = channel.listen(on: queue) { [owner] number, info in
            dispatchPrecondition(condition: .onQueue(queue))
            owner.hear("e\(number) \(info.origin)")
        }
        let report = await channel.postAndWait(1, from: owner)
        #expect(report.reached == 5)
        #expect(report.completed == 5)
        #expect(owner.heard.all.sorted() == ["a1", "b1 true", "c1", "d1", "e1 local"])
        withExtendedLifetime((plain, informed)) {}
    }

    @Test func queueFormsThatThrow() async {
        let queue = DispatchQueue(label: "forms")
        channel.listen(owner, on: queue) { me, number in try me.hearOrThrow("a\(number)") }
        channel.listen(owner, context: "b", on: queue) { me, number, text in try me.hearOrThrow("\(text)\(number)") }
        let token = channel.listen(on: queue) { [owner] number in try owner.hearOrThrow("c\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.failures.compactMap { ($0.error as? FormError)?.text }.sorted() == ["a1", "b1", "c1"])
        withExtendedLifetime(token) {}
    }

    @Test func argumentsComeInTheOrderOwnerContextPriorityOnBuffering() async {
        let queue = DispatchQueue(label: "forms")
        let global = DispatchQueue.global()
        channel.listen(owner, context: 1, priority: .high, on: queue, buffering: .newest(64)) { me, number, row in
            me.hear("\(number + row)")
        }
        channel.listen(owner, priority: -5, on: global, buffering: .oldest(64)) { me, number in me.hear("\(number)") }
        channel.listen(owner, priority: .low, on: .main, buffering: .unbounded) { me, number, info in
            dispatchPrecondition(condition: .onQueue(.main))
            me.hear("\(number) \(info.origin)")
        }
        let report = await channel.postAndWait(1)
        #expect(report.completed == 3)
        #expect(owner.heard.all.sorted() == ["1", "1 local", "2"])
    }

    @Test func concurrentQueueIsFirstInFirstOutAndNeverTwoAtOnce() async {
        let queue = DispatchQueue(label: "forms", attributes: .concurrent)
        channel.listen(owner, on: queue) { me, number in me.hear("\(number)") }
        for number in 0..<200 { channel.post(number) }
        await channel.postAndWait(200)
        #expect(owner.heard.all == (0...200).map { "\($0)" })
    }

    // MARK: Functions instead of closures

    static func record(_ me: FormListener, _ number: Int) {
        me.hear("static \(number)")
    }

    static func recordInformed(_ me: FormListener, _ number: Int, _ info: PostInfo) {
        me.hear("static \(number) \(info.origin)")
    }

    @concurrent
    static func recordLater(_ me: FormListener, _ number: Int) async throws {
        try await me.hearLaterOrThrow("later \(number)")
    }

    @Test func functionsAreTakenByName() async {
        channel.listen(owner, Self.record)
        channel.listen(owner, Self.recordInformed)
        channel.listen(owner, Self.recordLater)
        let report = await channel.postAndWait(1)
        #expect(report.completed == 2)
        #expect(report.failures.count == 1)
        #expect(owner.heard.all.sorted() == ["later 1", "static 1", "static 1 local"])
    }

    @Test func closureKeptInAVariable() async {
        let plain: @Sendable (FormListener, Int) -> Void = { me, number in me.hear("plain \(number)") }
        let throwing: @Sendable (FormListener, Int) throws -> Void = { me, number in
            try me.hearOrThrow("throwing \(number)")
        }
        let suspending: @concurrent @Sendable (FormListener, Int) async -> Void = { me, number in
            await me.hearLater("async \(number)")
        }
        channel.listen(owner, plain)
        channel.listen(owner, throwing)
        channel.listen(owner, suspending)
        #expect(channel.post(1) == 3)
        #expect(owner.heard.all.prefix(2) == ["plain 1", "throwing 1"])
        await channel.postAndWait(2)
        #expect(owner.heard.all.count == 6)
    }

    @Test func boundMethodOfASendableObject() {
        let numbers = Channel<String>()
        let token = numbers.listen(owner.hear)
        let throwing = numbers.listen(owner.hearOrThrow)
        #expect(numbers.post("x") == 2)
        #expect(owner.heard.all == ["x", "x"])
        withExtendedLifetime((token, throwing)) {}
    }

    @Test func closureThatReturnsAValueOfASingleExpression() {
        let numbers = FormLog<Int>()
        channel.listen(owner) { _, number in numbers.add(number) }
        channel.listen(owner) { me, number in _ = me.heard.all.count + number }
        #expect(channel.post(3) == 2)
        #expect(numbers.all == [3])
    }

    // MARK: Posting and counting

    @Test func echoFalseSkipsTheSendersOwnListeners() async {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.listen(sender) { me, number in me.hear("\(number)") }
        let token = channel.listen { _ in }
        #expect(channel.post(1, from: owner, echo: false) == 2)
        #expect(channel.post(2, from: owner, echo: true) == 3)
        #expect(channel.post(3, echo: false) == 3)
        #expect(owner.heard.all == ["2", "3"])
        #expect(sender.heard.all == ["1", "2", "3"])
        let report = await channel.postAndWait(4, from: sender, echo: false)
        #expect(report.reached == 2)
        withExtendedLifetime(token) {}
    }

    @Test func removeListenersCountAndIsEmpty() {
        #expect(channel.isEmpty)
        #expect(channel.listenerCount == 0)
        let token = channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.listen(sender) { me, number in me.hear("\(number)") }
        #expect(!channel.isEmpty)
        #expect(channel.listenerCount == 3)
        channel.removeListeners(of: owner)
        #expect(!token.isActive)
        #expect(channel.listenerCount == 1)
        #expect(channel.post(1) == 1)
        #expect(owner.heard.all.isEmpty)
    }

    @Test func channelsAreMadeWithEveryReentrancyFaultHandlerAndDiagnostics() {
        _ = Channel<Int>()
        _ = Channel<Int>(reentrancy: .nested(limit: 64))
        _ = Channel<Int>(reentrancy: .queued)
        _ = Channel<Int>(reentrancy: .queued(limit: 1_024), onFault: { _ in })
        let counted = Channel<Int>(diagnostics: .counts)
        let token = counted.listen(owner) { _, _ in }
        counted.post(1)
        counted.post(2)
        #expect(token.deliveredCount == 2)
    }
}
