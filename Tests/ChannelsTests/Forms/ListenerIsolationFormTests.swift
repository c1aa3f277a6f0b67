import Channels
import ChannelsTesting
import Testing

@globalActor
private actor Books {
    static let shared = Books()
}

@Books
private final class Ledger {
    var heard: [String] = []

    init(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.heard.append("a\(number)") }
        channel.listen(self, priority: .low) { me, number in await me.hearLater("b\(number)") }
    }

    func hearLater(_ text: String) async { heard.append(text) }
}

// Each owner wires itself from inside, with no annotation: `me` is used directly.

extension FormView {
    fileprivate func wire(_ channel: Channel<Int>) -> [ListenerToken] {
        channel.listen(self) { me, number in me.hear("a\(number)") }
        channel.posts.listen(self) { me, post in me.hear("b\(post.message) \(post.sender === me)") }
        channel.listen(self) { [text = "c"] me, number in me.hear("\(text)\(number)") }
        channel.listen(self) { me, number in try me.hearOrThrow("d\(number)") }
        channel.listen(self) { me, number in try await me.hearLaterOrThrow("e\(number)") }
        return [
            channel.listen { [unowned self] number in hear("f\(number)") },
            channel.posts.listen { [weak self] post in self?.hear("g\(post.message) \(post.origin)") },
            channel.listen { [unowned self] number in await hearLater("h\(number)") },
        ]
    }
}

extension FormActor {
    fileprivate func wire(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("a\(number)") }
        channel.posts.listen(self) { me, post in me.hear("b\(post.message) \(post.sender === me)") }
        channel.listen(self) { [text = "c"] me, number in me.hear("\(text)\(number)") }
        channel.listen(self) { me, number in try me.hearOrThrow("d\(number)") }
        channel.listen(self) { me, number in await me.hearLater("e\(number)") }
        // What is called with `await` and what is called without stand in one closure.
        channel.listen(self) { me, number in
            me.hear("f\(number)")
            await me.hearLater("g\(number)")
            me.heard.append("h\(number)")
        }
        channel.posts.listen(self) { me, post in try await me.hearLaterOrThrow("i\(post.message)") }
    }

    /// Two closures that do nothing that says where they run, and one for an owner that is elsewhere.
    fileprivate func wireWithoutUsingMe(
        _ channel: Channel<Int>,
        for owner: FormListener,
        _ hear: @escaping @Sendable () -> Void
    ) {
        channel.listen(self) { _, _ in hear() }
        channel.listen(self) { _, _ in
            hear()
            await Task.yield()
        }
        channel.listen(owner) { _, number in self.hear("\(number)") }
    }

    fileprivate func post(_ number: Int, on channel: Channel<Int>) -> (count: Int, heard: [String]) {
        (channel.post(number, from: self), heard)
    }
}

private actor InitialisedActor {
    var numbers: [Int] = []

    init(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.numbers.append(number) }
        channel.listen(self) { me, number in
            me.numbers.append(number)
            await me.note(number)
        }
    }

    func note(_ number: Int) async { numbers.append(number * 10) }
}

@MainActor private func recordOnTheMainActor(_ me: FormView, _ number: Int) { me.hear("function \(number)") }

/// Each form runs where its closure is isolated.
struct ListenerIsolationFormTests {
    let channel = Channel<Int>(onFault: { _ in })

    @Test @MainActor func mainActorListenersAreCalledBeforeAPostFromThereReturns() {
        let view = FormView()
        let tokens = view.wire(channel)
        #expect(channel.post(1, from: view) == 8)
        #expect(view.heard == ["a1", "b1 true", "c1", "d1", "f1", "g1 local"])
        withExtendedLifetime(tokens) {}
    }

    @Test func mainActorListenersAreCalledThereFromElsewhereAsyncOnesToo() async {
        let view = FormView()
        let tokens = await view.wire(channel)
        let report = await channel.postAndWait(1)
        #expect(report.completedCount == 6)
        #expect(report.failures.map(\.ownerType) == ["FormView", "FormView"])
        #expect(await view.heard.sorted() == ["a1", "b1 false", "c1", "d1", "e1", "f1", "g1 local", "h1"])
        withExtendedLifetime(tokens) {}
    }

    @Test func mainActorOwnerIsWiredFromOutside() async {
        let view = FormView()
        channel.listen(view, once: true) { @MainActor me, number in me.hear("a\(number)") }
        channel.posts.listen(view) { @MainActor me, post in me.hear("b\(post.message) \(post.origin)") }
        channel.listen(view) { @MainActor [three = 3] me, number in me.hear("c\(number * three)") }
        channel.listen(view) { @MainActor me, number in await me.hearLater("d\(number)") }
        channel.listen(view) { me, number in await me.hear("e\(number)") }
        let token = channel.listen { @MainActor number in view.hear("f\(number)") }
        #expect(await channel.postAndWait(1).completedCount == 6)
        #expect(await view.heard.sorted() == ["a1", "b1 local", "c3", "d1", "e1", "f1"])
        #expect(await channel.postAndWait(2).completedCount == 5)
        withExtendedLifetime(token) {}
    }

    @Test @MainActor func functionsOfTheMainActorKeepTheirIsolation() async {
        let view = FormView()
        let body: @MainActor @Sendable (FormView, Int) -> Void = { me, number in me.hear("variable \(number)") }
        channel.listen(view, recordOnTheMainActor)
        channel.listen(view, body)
        let strings = Channel<String>()
        let token = strings.listen(view.hear)
        #expect(channel.post(1) == 2)
        _ = await Task { @concurrent [channel] in await channel.postAndWait(2) }.value
        _ = await Task { @concurrent in await strings.postAndWait("bound") }.value
        #expect(view.heard == ["function 1", "variable 1", "function 2", "variable 2", "bound"])
        withExtendedLifetime(token) {}
    }

    @Test @MainActor func mainActorFormsTakeABuffer() async {
        let view = FormView()
        let tokens = [
            channel.listen(view, buffering: .newest(2)) { me, number in me.hear("a\(number)") },
            channel.listen(view, buffering: .oldest(2)) { me, number in try me.hearOrThrow("b\(number)") },
            channel.listen(buffering: .newest(1)) { [unowned view] number in view.hear("c\(number)") },
            channel.listen(buffering: .oldest(1)) { [unowned view] number in try view.hearOrThrow("d\(number)") },
        ]
        // Without isolation, while the main actor is busy here.
        for number in 1...5 { channel.post(number, isolation: nil) }
        #expect(tokens.map(\.waitingCount) == [2, 2, 1, 1])
        #expect(tokens.map(\.droppedCount) == [3, 3, 4, 4])
        await wait(for: view.heard.count) { $0 >= 6 }
        #expect(view.heard.sorted() == ["a4", "a5", "b1", "b2", "c5", "d1"])
    }

    @Test func actorOwnerIsCalledOnTheActorBeforeItsOwnPostReturns() async {
        let actor = FormActor()
        await actor.wire(channel)
        let (count, heard) = await actor.post(1, on: channel)
        #expect(count == 7)
        #expect(heard == ["a1", "b1 true", "c1", "d1"])
    }

    @Test func actorOwnerIsCalledThereFromElsewhereItsAsyncClosuresToo() async {
        let actor = FormActor()
        await actor.wire(channel)
        let report = await channel.postAndWait(1, from: actor)
        #expect(report.completedCount == 5)
        #expect(report.failures.count == 2)
        let heard = await actor.heard
        #expect(heard.sorted() == ["a1", "b1 true", "c1", "d1", "e1", "f1", "g1", "h1", "i1"])
        #expect(heard.filter { "fgh".contains($0.prefix(1)) } == ["f1", "g1", "h1"])
    }

    @Test func actorOwnerIsWiredFromOutside() async {
        let actor = FormActor()
        channel.listen(actor) { me, number in me.hear("a\(number)") }
        channel.posts.listen(actor) { me, post in me.hear("b\(post.message) \(post.origin)") }
        channel.listen(actor) { [one = 1] me, number in try me.hearOrThrow("c\(number + one)") }
        channel.listen(actor) { me, number in await me.hearLater("d\(number)") }
        channel.listen(actor, priority: .low, buffering: .newest(9)) { me, number in
            me.hear("e\(number)")
            try await me.hearLaterOrThrow("f\(number)")
        }
        channel.listen(actor) { (me: isolated FormActor, number) in me.hear("g\(number)") }
        channel.listen(actor, once: true) { (me: isolated FormActor, number) in await me.hearLater("h\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.completedCount == 5)
        #expect(report.failures.count == 2)
        #expect(await actor.heard.sorted() == ["a1", "b1 local", "c2", "d1", "e1", "f1", "g1", "h1"])
        #expect(channel.listenerCount == 6)
    }

    @Test func closureOfAnActorRunsThereWhateverItUsesAndWhoeverOwns() async {
        let (actor, owner) = (FormActor(), FormListener())
        await actor.wireWithoutUsingMe(channel, for: owner) {
            actor.assertIsolated()
            owner.hear("on the actor")
        }
        #expect(await channel.postAndWait(1).completedCount == 3)
        #expect(owner.heard.count == 2)
        #expect(await actor.heard == ["1"])
    }

    @Test func actorListensInItsInitialiser() async {
        let actor = InitialisedActor(channel)
        #expect(await channel.postAndWait(3).completedCount == 2)
        #expect(await actor.numbers.sorted() == [3, 3, 30])
    }

    @Test @Books func globalActorOwnerIsCalledOnItsActor() async {
        let ledger = Ledger(channel)
        #expect(channel.post(1) == 2)
        #expect(ledger.heard == ["a1"])
        await wireFromOutside(ledger)
        #expect(ledger.heard.sorted() == ["a1", "a2", "b1", "b2", "c2"])
    }

    @concurrent
    private func wireFromOutside(_ ledger: Ledger) async {
        channel.listen(ledger) { @Books me, number in me.heard.append("c\(number)") }
        #expect(await channel.postAndWait(2).completedCount == 3)
    }
}
