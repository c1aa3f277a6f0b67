import Channels
import ChannelsTesting
import Dispatch
import TestSupport
import Testing

// Everything here is on the main actor where nothing else is said, as in a new app.

/// A view model.
final class ScreenModel {
    var heard: [String] = []
    var tokens: Set<ListenerToken> = []

    func hear(_ text: String) {
        MainActor.assertIsolated()
        heard.append(text)
    }

    func save(_ text: String) async {
        await Task.yield()
        hear(text)
    }

    func fail(_ text: String) throws {
        hear(text)
        throw AppError()
    }
}

struct AppError: Error {}

/// What leaves the main actor says so.
nonisolated final class Worker: Sendable {
    let done = Channel<Int>()

    func work() {
        done.post(1)
    }

    /// Hands its caller's isolation on.
    func workHere(isolation: isolated (any Actor)? = #isolation) {
        done.post(3)
    }

    @concurrent
    func workElsewhere() async {
        await done.postAndWait(2)
    }
}

actor Store {
    var heard: [String] = []

    init(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("init \(number)") }
    }

    func wire(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.hear("inside \(number)") }
    }

    func hear(_ text: String) {
        assertIsolated()
        heard.append(text)
    }

    /// Suspends on purpose.
    func save(_ text: String) async {
        await Task.yield()
        hear(text)
    }
}

@Suite(.hangLimit)
struct ListenInNewAppTests {
    let channel = Channel<Int>(onFault: { _ in })
    let model = ScreenModel()

    @Test func synchronousForms() {
        channel.listen(model) { me, number in me.hear("a\(number)") }
        channel.posts.listen(model, priority: .high) { me, post in me.hear("b\(post.message) \(post.sender === me)") }
        channel.listen(model, priority: .low) { [text = "c"] me, number in me.hear("\(text)\(number)") }
        channel.listen(model) { me, number in try me.fail("d\(number)") }
        channel.listen(model, buffering: .newest(3)) { $0.hear("e\($1)") }
        channel.listen { [model] number in model.hear("f\(number)") }.store(in: &model.tokens)
        channel.posts.listen { [weak model] post in model?.hear("g\(post.message) \(post.origin)") }.store(
            in: &model.tokens
        )
        #expect(channel.post(1, from: model) == 7)
        #expect(model.heard == ["b1 true", "a1", "d1", "e1", "f1", "g1 local", "c1"])
        #expect(channel.post(2, from: model, echo: false) == 2)
        #expect(channel.listenerCount == 7)
        channel.removeListeners(of: model)
        model.tokens = []
        #expect(channel.isEmpty)
    }

    @Test func asynchronousForms() async {
        channel.listen(model) { me, number in await me.save("a\(number)") }
        channel.posts.listen(model) { me, post in
            me.hear("b\(post.origin)")
            await me.save("c\(post.message)")
        }
        channel.listen(model) { [text = "d"] me, number in
            await me.save("\(text)\(number)")
            throw AppError()
        }
        let token = channel.listen { [model] number in await model.save("e\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.reachedCount == 4)
        #expect(report.failures.count == 1)
        #expect(model.heard.sorted() == ["a1", "blocal", "c1", "d1", "e1"])
        await token.cancelAndWait()
    }

    @Test func onceAndInterceptForms() {
        channel.listen(model, once: true) { me, number in me.hear("once \(number)") }
        channel.listen(model, once: true) { [two = 2] me, number in me.hear("once \(number * two)") }
        channel.intercept(model) { _, post in post.message < 0 ? .stop : .replace(post.message + 1) }
        let token = channel.intercept { post in post.sender == nil ? .continue : .stop }
        #expect(channel.post(-1) == 0)
        #expect(channel.post(1, from: model) == 0)
        #expect(channel.post(1) == 2)
        #expect(channel.post(1) == 0)
        #expect(model.heard == ["once 2", "once 4"])
        withExtendedLifetime(token) {}
    }

    @Test func queueForms() async {
        let (queue, numbers) = (DispatchQueue(label: "app"), Recorder<Int>())
        channel.listen(model, on: queue) { _, number in
            dispatchPrecondition(condition: .onQueue(queue))
            numbers.record(number)
        }
        channel.posts.listen(model, on: queue, once: true) { _, post in numbers.record(post.message * 10) }
        let token = channel.listen(on: queue) { number in numbers.record(number * 100) }
        #expect(await channel.postAndWait(1).completedCount == 3)
        #expect(numbers.all.sorted() == [1, 10, 100])
        withExtendedLifetime(token) {}
    }

    /// `wire` says nothing of isolation, and neither do its closures.
    @Test func sourcesKnownByTheirProtocolOnly() async {
        let state = StateChannel(1)
        wire(state)
        wireAny(channel)
        #expect(model.heard == ["some 1"])
        channel.post(2)
        #expect(model.heard == ["some 1", "any 2"])
        await channel.postAndWait(3)
        await wait(for: model.heard) { $0.count >= 6 }
        #expect(model.heard.sorted() == ["any 2", "any 3", "any async 2", "any async 3", "some 1", "some async 1"])
    }

    private func wire(_ source: some Listenable<Int>) {
        source.listen(model) { me, number in me.hear("some \(number)") }
        source.listen(model) { me, number in await me.save("some async \(number)") }
    }

    private func wireAny(_ source: any Listenable<Int>) {
        source.listen(model) { me, number in me.hear("any \(number)") }
        source.listen(model) { me, number in await me.save("any async \(number)") }
    }

    @Test func functionsByName() {
        channel.listen(model, Self.record)
        let strings = Channel<String>()
        let token = strings.listen(model.hear)
        channel.post(1)
        strings.post("bound")
        #expect(model.heard == ["static 1", "bound"])
        withExtendedLifetime(token) {}
    }

    static func record(_ me: ScreenModel, _ number: Int) {
        me.hear("static \(number)")
    }

    @Test func actorOwners() async {
        let store = Store(channel)
        await store.wire(channel)
        channel.listen(store) { me, number in me.hear("isolated \(number)") }
        channel.listen(store) { me, number in
            me.hear("sync \(number)")
            await me.save("async \(number)")
        }
        #expect(await channel.postAndWait(1).completedCount == 4)
        #expect(await store.heard.sorted() == ["async 1", "init 1", "inside 1", "isolated 1", "sync 1"])
    }

    @Test func messagesFromElsewhereArriveOnTheMainActor() async {
        let worker = Worker()
        worker.done.listen(model) { me, number in me.hear("\(number)") }
        let token = worker.done.listen { [model] number in model.hear("ownerless \(number)") }
        // The isolation that counts is the one known at compile time: a method without one enqueues, on the
        // main thread too.
        worker.work()
        #expect(model.heard.isEmpty)
        await worker.workElsewhere()
        #expect(model.heard.sorted() == ["1", "2", "ownerless 1", "ownerless 2"])
        worker.workHere()
        #expect(model.heard.suffix(2) == ["3", "ownerless 3"])
        withExtendedLifetime(token) {}
    }

    @Test func sequencesAndNext() async {
        let messages = channel.messages(buffering: .newest(2))
        for number in 1...3 { channel.post(number) }
        var heard: [Int] = []
        for await number in messages {
            heard.append(number)
            if number == 3 { break }
        }
        #expect(heard == [2, 3])
        let other = Channel<Int>()
        let task = Task { await other.first(where: { $0 > 1 }) }
        await wait(for: other.isEmpty) { !$0 }
        other.post(1)
        other.post(2)
        #expect(await task.value == 2)
    }

    @Test func voidMessages() {
        let ping = Channel<Void>()
        ping.listen(model) { me, _ in me.hear("ping") }
        ping.listen(model, once: true) { me, _ in me.hear("once") }
        ping.posts.listen(model) { me, post in me.hear("\(post.sender === me)") }
        let token = ping.listen { [model] in model.hear("ownerless") }
        #expect(ping.post(from: model) == 4)
        #expect(ping.post() == 3)
        #expect(model.heard == ["ping", "once", "true", "ownerless", "ping", "false", "ownerless"])
        withExtendedLifetime(token) {}
    }
}
