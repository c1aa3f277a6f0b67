import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Sources known by their protocol only, and closures and functions as they are written.
struct ListenableFormTests {
    let owner = FormListener()
    let actor = FormActor()
    let channel = Channel<Int>(onFault: { _ in })

    /// The nine forms, no closure saying its type. (Those of `some Listenable` are in ``ListenForm``.)
    private func wire(_ source: any Listenable<Int>) -> [ListenerToken] {
        [
            source.listen(owner) { me, number in me.hear("owner \(number)") },
            source.listen(owner) { me, number in try me.hearOrThrow("owner throws \(number)") },
            source.listen(owner) { me, number in await me.hearLater("owner async \(number)") },
            source.listen(owner, on: .global()) { me, number in me.hear("owner queue \(number)") },
            source.listen(actor) { [owner] me, number in
                me.assertIsolated()
                owner.hear("actor \(number)")
            },
            source.listen(actor) { [owner] me, number in
                me.hear("sync")
                await me.hearLater("async")
                owner.hear("actor async \(number)")
            },
            source.listen { [owner] number in owner.hear("token \(number)") },
            source.listen { [owner] number in try owner.hearOrThrow("token throws \(number)") },
            source.listen { [owner] number in await owner.hearLater("token async \(number)") },
            source.listen(on: .global()) { [owner] number in owner.hear("token queue \(number)") },
        ]
    }

    @Test func everyFormInfersOnAListenableOfAnyType() async {
        let board = Switchboard(onFault: { _ in })
        let (named, typed, state) = (board[FormSources.name], board[Int.self], StateChannel(2, onFault: { _ in }))
        let sources: [any Listenable<Int>] = [channel, state, named, typed, Doubled(source: Channel<Int>())]
        for source in sources {
            let test = Self()
            let tokens = test.wire(source)
            for channel in [channel, named.channel, typed.channel] { channel.post(2) }
            ((source as? Doubled<Channel<Int>>)?.source)?.post(1)
            let kinds = ["owner", "token"].flatMap { [$0, "\($0) async", "\($0) queue", "\($0) throws"] }
            #expect(await test.owner.heard.first(10).sorted() == (["actor", "actor async"] + kinds).map { "\($0) 2" })
            for token in tokens { await token.cancelAndWait() }
            #expect(await test.actor.heard == ["sync", "async"])
        }
    }

    @Test func sequencesAndNextOfAListenableOfAnyType() async {
        let source: any Listenable<Int> = channel
        var messages = source.messages(buffering: .newest(2)).makeAsyncIterator()
        let next = Task { await source.first { $0 > 1 } }
        await wait(for: channel.listenerCount) { $0 >= 2 }
        for number in 1...3 { channel.post(number) }
        #expect(await messages.next() == 2)
        #expect(await next.value == 2)
    }

    @Test func argumentsComeInTheOrderOwnerOnPriorityOnceBuffering() async {
        channel.listen(owner, on: .main, priority: -5, once: true, buffering: .newest(64)) { me, number in
            dispatchPrecondition(condition: .onQueue(.main))
            me.hear("\(number)")
        }
        #expect(await channel.postAndWait(1).completedCount == 1)
        #expect(owner.heard.all == ["1"])
    }

    @Test func closuresOfEveryStyle() {
        channel.listen(owner) { $0.hear("\($1)") }
        channel.listen(owner) { me, _ in me.hear("heard") }
        channel.listen(owner) { [row = 7] me, number in me.hear("\(number) in \(row)") }
        channel.listen(owner) { me, number in _ = me.heard.count + number }
        channel.listen(owner) { me, number in if number == 1 { me.hear("one") } }
        let token = channel.listen { [owner] in owner.hear("\($0 * 10)") }
        #expect(channel.post(1) == 6)
        #expect(owner.heard.all == ["1", "heard", "1 in 7", "one", "10"])
        withExtendedLifetime(token) {}
    }

    static func record(_ me: FormListener, _ number: Int) { me.hear("static \(number)") }

    @concurrent
    static func recordLater(_ me: FormListener, _ number: Int) async throws {
        try await me.hearLaterOrThrow("later \(number)")
    }

    @Test func functionsAndClosuresInVariablesAreTakenByName() async {
        let plain: @Sendable (FormListener, Int) -> Void = { me, number in me.hear("plain \(number)") }
        let throwing: @Sendable (FormListener, Int) throws -> Void = { me, number in try me.hearOrThrow("throwing") }
        let suspending: @concurrent @Sendable (FormListener, Int) async -> Void = { me, number in
            await me.hearLater("async \(number)")
        }
        channel.listen(owner, Self.record)
        channel.listen(owner, Self.recordLater)
        channel.listen(owner, plain)
        channel.listen(owner, throwing)
        channel.listen(owner, suspending)
        let report = await channel.postAndWait(1)
        #expect(report.completedCount == 3)
        #expect(report.failures.count == 2)
        #expect(owner.heard.all.prefix(3) == ["static 1", "plain 1", "throwing"])
        #expect(owner.heard.all.suffix(2).sorted() == ["async 1", "later 1"])
        let texts = Channel<String>(onFault: { _ in })
        let tokens = [texts.listen(owner.hear), texts.listen(owner.hearOrThrow)]
        #expect(texts.post("bound") == 2)
        #expect(owner.heard.all.suffix(2) == ["bound", "bound"])
        withExtendedLifetime(tokens) {}
    }
}
