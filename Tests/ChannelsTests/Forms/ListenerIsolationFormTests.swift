import Channels
import Testing

extension FormView {
    /// Every synchronous form, inside a method of the class: `me` is used directly.
    func wireInside(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("a\(number)") }
        channel.listen(self) { me, number, info in me.hear("b\(number) \(info.sender === me)") }
        channel.listen(self, context: "c") { me, number, text in me.hear("\(text)\(number)") }
        channel.listen(self) { me, number in try me.hearOrThrow("d\(number)") }
    }

    func wireAsyncInside(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in
            await Task.yield()
            me.hear("a\(number)")
        }
        channel.listen(self, context: "b") { me, number, text in
            await Task.yield()
            me.hear("\(text)\(number)")
        }
        channel.listen(self) { me, number, _ in
            await Task.yield()
            try me.hearOrThrow("c\(number)")
        }
    }

    func ownerless(_ channel: Channel<Int>) -> [ListenerToken] {
        [
            channel.listen { [unowned self] number in hear("e\(number)") },
            channel.listen { [weak self] number, info in self?.hear("f\(number) \(info.origin)") },
            channel.listen { [unowned self] number in
                await Task.yield()
                hear("g\(number)")
            },
        ]
    }

    func hearOrThrow(_ text: String) throws {
        hear(text)
        throw FormError(text: text)
    }
}

extension FormActor {
    func wireInside(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("a\(number)") }
        channel.listen(self) { me, number, info in me.hear("b\(number) \(info.sender === me)") }
        channel.listen(self, context: "c") { me, number, text in me.hear("\(text)\(number)") }
        channel.listen(self) { me, number in try me.hearOrThrow("d\(number)") }
        channel.listen(self) { me, number in await me.hearLater("e\(number)") }
        channel.once(self) { me, number in me.hear("f\(number)") }
    }

    func hearOrThrow(_ text: String) throws {
        hear(text)
        throw FormError(text: text)
    }

    func post(_ number: Int, on channel: Channel<Int>) -> (count: Int, heard: [String]) {
        (channel.post(number, from: self), heard)
    }
}

extension FormLedger {
    func wireInside(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("a\(number)") }
        channel.listen(self, context: 2, priority: .high) { me, number, two in me.hear("b\(number * two)") }
        channel.listen(self, priority: .low) { me, number in
            await Task.yield()
            me.hear("c\(number)")
        }
    }
}

/// Each form runs where its closure is isolated.
struct ListenerIsolationFormTests {
    let channel = Channel<Int>(onFault: { _ in })

    // MARK: Main actor

    @Test @MainActor func mainActorOwnerIsCalledBeforeAPostFromTheMainActorReturns() {
        let view = FormView()
        view.wireInside(channel)
        #expect(channel.post(1, from: view) == 4)
        #expect(view.heard == ["a1", "b1 true", "c1", "d1"])
    }

    @Test func mainActorOwnerIsCalledOnTheMainActorFromElsewhere() async {
        let view = FormView()
        await view.wireInside(channel)
        let report = await channel.postAndWait(1)
        #expect(report.reached == 4)
        #expect(report.completed == 3)
        #expect(report.failures.first?.ownerType == "FormView")
        #expect(await view.heard.sorted() == ["a1", "b1 false", "c1", "d1"])
    }

    @Test @MainActor func asyncListenersOfAMainActorOwnerRunOnTheMainActor() async {
        let view = FormView()
        view.wireAsyncInside(channel)
        let report = await channel.postAndWait(1)
        #expect(report.completed == 2)
        #expect(report.failures.count == 1)
        #expect(view.heard.sorted() == ["a1", "b1", "c1"])
    }

    @Test @MainActor func ownerlessListenersInheritTheMainActor() async {
        let view = FormView()
        let tokens = view.ownerless(channel)
        #expect(channel.post(1) == 3)
        #expect(view.heard == ["e1", "f1 local"])
        await channel.postAndWait(2)
        #expect(view.heard.filter { $0.hasPrefix("g") } == ["g1", "g2"])
        withExtendedLifetime(tokens) {}
    }

    @Test func mainActorOwnerIsWiredFromOutside() async {
        let view = FormView()
        channel.listen(view) { @MainActor me, number in me.hear("a\(number)") }
        channel.listen(view) { @MainActor me, number, info in me.hear("b\(number) \(info.origin)") }
        channel.listen(view, context: 3) { @MainActor me, number, three in me.hear("c\(number * three)") }
        channel.listen(view) { @MainActor me, number in
            await Task.yield()
            me.hear("d\(number)")
        }
        channel.listen(view) { me, number in await me.hear("e\(number)") }
        let token = channel.listen { @MainActor number in view.hear("f\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.completed == 6)
        #expect(await view.heard.sorted() == ["a1", "b1 local", "c3", "d1", "e1", "f1"])
        withExtendedLifetime(token) {}
    }

    @Test @MainActor func functionsOfTheMainActorKeepTheirIsolation() async {
        let view = FormView()
        channel.listen(view, recordOnTheMainActor)
        let body: @MainActor @Sendable (FormView, Int) -> Void = { me, number in me.hear("variable \(number)") }
        channel.listen(view, body)
        let strings = Channel<String>()
        let token = strings.listen(view.hear)
        #expect(channel.post(1) == 2)
        #expect(view.heard == ["function 1", "variable 1"])
        await postFromElsewhere(2)
        #expect(view.heard == ["function 1", "variable 1", "function 2", "variable 2"])
        await postElsewhere("bound", on: strings)
        #expect(view.heard.last == "bound")
        withExtendedLifetime(token) {}
    }

    @concurrent
    private func postFromElsewhere(_ number: Int) async {
        await channel.postAndWait(number)
    }

    @concurrent
    private func postElsewhere(_ text: String, on channel: Channel<String>) async {
        await channel.postAndWait(text)
    }

    // MARK: Actors

    @Test func actorOwnerIsCalledOnTheActorBeforeItsOwnPostReturns() async {
        let actor = FormActor()
        await actor.wireInside(channel)
        let (count, heard) = await actor.post(1, on: channel)
        #expect(count == 6)
        #expect(heard == ["a1", "b1 true", "c1", "d1", "f1"])
    }

    @Test func actorOwnerIsCalledOnTheActorFromElsewhere() async {
        let actor = FormActor()
        await actor.wireInside(channel)
        let report = await channel.postAndWait(1, from: actor)
        #expect(report.reached == 6)
        #expect(report.completed == 5)
        #expect(await actor.heard.sorted() == ["a1", "b1 true", "c1", "d1", "e1", "f1"])
    }

    @Test func actorOwnerIsWiredFromOutsideWithAnIsolatedParameter() async {
        let actor = FormActor()
        channel.listen(actor) { (me: isolated FormActor, number) in me.hear("a\(number)") }
        channel.listen(actor) { (me: isolated FormActor, number, info) in me.hear("b\(number) \(info.origin)") }
        channel.listen(actor, context: "c", priority: .low) { (me: isolated FormActor, number, text) in
            me.hear("\(text)\(number)")
        }
        channel.listen(actor) { (me: isolated FormActor, number) in try me.hearOrThrow("d\(number)") }
        channel.listen(actor) { (me: isolated FormActor, number) in
            await Task.yield()
            me.hear("e\(number)")
        }
        channel.listen(actor) { (me: isolated FormActor, number, info) in
            await Task.yield()
            me.hear("f\(number) \(info.sender == nil)")
        }
        channel.listen(actor, context: "g", buffering: .newest(9)) { (me: isolated FormActor, number, text) in
            await Task.yield()
            try me.hearOrThrow("\(text)\(number)")
        }
        let report = await channel.postAndWait(1)
        #expect(report.reached == 7)
        #expect(report.failures.count == 2)
        #expect(await actor.heard.sorted() == ["a1", "b1 local", "c1", "d1", "e1", "f1 true", "g1"])
    }

    @Test func actorOwnerIsWiredFromOutsideWithoutAnAnnotation() async {
        let actor = FormActor()
        channel.listen(actor) { me, number in me.hear("a\(number)") }
        channel.listen(actor) { me, number, info in me.hear("b\(number) \(info.origin)") }
        channel.listen(actor, context: 1) { me, number, one in try me.hearOrThrow("c\(number + one)") }
        channel.listen(actor) { me, number in await me.hearLater("d\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.completed == 3)
        #expect(report.failures.count == 1)
        #expect(await actor.heard.sorted() == ["a1", "b1 local", "c2", "d1"])
    }

    // MARK: Global actors

    @Test func globalActorOwnerIsCalledOnItsActor() async {
        let ledger = await FormLedger()
        await ledger.wireInside(channel)
        channel.listen(ledger) { @FormGlobalActor me, number in me.hear("d\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.completed == 4)
        #expect(await ledger.heard.sorted() == ["a1", "b2", "c1", "d1"])
        await postOnTheGlobalActor(ledger)
    }

    @FormGlobalActor
    private func postOnTheGlobalActor(_ ledger: FormLedger) async {
        ledger.heard = []
        #expect(channel.post(2) == 4)
        #expect(ledger.heard == ["b4", "a2", "d2"])
        await channel.postAndWait(3)
    }

    @Test func closureWrittenInAnActorForAnotherOwnerRunsOnThatActor() async {
        let actor = FormActor()
        let owner = FormListener()
        await actor.listenFor(owner, on: channel)
        await channel.postAndWait(1)
        #expect(await actor.heard == ["1"])
        withExtendedLifetime(owner) {}
    }
}

extension FormActor {
    fileprivate func listenFor(_ owner: FormListener, on channel: Channel<Int>) {
        channel.listen(owner) { _, number in self.hear("\(number)") }
    }
}

@MainActor
private func recordOnTheMainActor(_ me: FormView, _ number: Int) {
    me.hear("function \(number)")
}
