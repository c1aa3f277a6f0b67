import Channels
import Dispatch
import Testing

/// `once` has the forms of `listen`.
struct ChannelOnceFormTests {
    let channel = Channel<Int>(onFault: { _ in })
    let owner = FormListener()

    @Test func synchronousForms() {
        let token = channel.once(owner) { me, number in me.hear("a\(number)") }
        channel.once(owner, priority: .high) { me, number, info in me.hear("b\(number) \(info.sender === me)") }
        channel.once(owner, context: "c") { me, number, text in me.hear("\(text)\(number)") }
        channel.once(owner) { me, number in try me.hearOrThrow("d\(number)") }
        let plain = channel.once { [owner] number in owner.hear("e\(number)") }
        let informed = channel.once(priority: .low) { [owner] number, info in owner.hear("f\(number) \(info.origin)") }
        #expect(channel.listenerCount == 6)
        #expect(channel.post(1, from: owner) == 6)
        #expect(channel.post(2) == 0)
        #expect(owner.heard.all == ["b1 true", "a1", "c1", "d1", "e1", "f1 local"])
        #expect(!token.isActive && !plain.isActive && !informed.isActive)
        #expect(channel.isEmpty)
    }

    @Test func asynchronousForms() async {
        channel.once(owner) { me, number in await me.hearLater("a\(number)") }
        channel.once(owner) { me, number, info in await me.hearLater("b\(number) \(info.origin)") }
        channel.once(owner, context: "c", buffering: .newest(1)) { me, number, text in
            try await me.hearLaterOrThrow("\(text)\(number)")
        }
        let token = channel.once { [owner] number in await owner.hearLater("d\(number)") }
        let report = await channel.postAndWait(1)
        #expect(report.reached == 4)
        #expect(report.failures.count == 1)
        #expect(await channel.postAndWait(2).reached == 0)
        #expect(owner.heard.all.sorted() == ["a1", "b1 local", "c1", "d1"])
        withExtendedLifetime(token) {}
    }

    @Test func queueForms() async {
        let queue = DispatchQueue(label: "forms")
        channel.once(owner, on: queue) { me, number in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("a\(number)")
        }
        channel.once(owner, priority: .high, on: queue) { me, number, info in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("b\(number) \(info.origin)")
        }
        channel.once(owner, context: "c", on: queue) { me, number, text in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("\(text)\(number)")
        }
        let token = channel.once(on: queue) { [owner] number in owner.hear("d\(number)") }
        #expect(await channel.postAndWait(1).completed == 4)
        #expect(channel.post(2) == 0)
        #expect(owner.heard.all.sorted() == ["a1", "b1 local", "c1", "d1"])
        withExtendedLifetime(token) {}
    }

    @Test func isolatedForms() async {
        let view = FormView()
        let actor = FormActor()
        channel.once(view) { @MainActor me, number in me.hear("\(number)") }
        channel.once(actor) { (me: isolated FormActor, number) in me.hear("a\(number)") }
        channel.once(actor) { (me: isolated FormActor, number, info) in me.hear("b\(number) \(info.origin)") }
        channel.once(actor, context: "c") { (me: isolated FormActor, number, text) in
            await Task.yield()
            me.hear("\(text)\(number)")
        }
        #expect(await channel.postAndWait(1).completed == 4)
        #expect(await channel.postAndWait(2).reached == 0)
        #expect(await view.heard == ["1"])
        #expect(await actor.heard.sorted() == ["a1", "b1 local", "c1"])
    }

    @Test @MainActor func insideAMainActorTest() {
        let view = FormView()
        channel.once(view) { me, number in me.hear("\(number)") }
        #expect(channel.post(1) == 1)
        #expect(channel.post(2) == 0)
        #expect(view.heard == ["1"])
    }
}
