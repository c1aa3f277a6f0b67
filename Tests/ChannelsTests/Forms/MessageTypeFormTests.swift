import Channels
import ChannelsTesting
import Dispatch
import Testing

/// More than a kilobyte, and not plain bytes.
private struct Page: Equatable, Sendable {
    var first = SIMD64<UInt64>(repeating: 1)
    var second = SIMD64<UInt64>(repeating: 2)
    var last = SIMD64<UInt64>(repeating: 3)
    var title: String
}

private final class Parcel: Sendable {}
private protocol Shape: Sendable { var area: Int { get } }
private struct Square: Shape { var area: Int }
private struct Empty: Equatable, Sendable {}

private enum Choice: Equatable, Sendable {
    case none
    indirect case nested(Choice, String)
}

/// Messages of every shape arrive as they were posted.
struct MessageTypeFormTests {
    let owner = FormListener()
    let actor = FormActor()

    @Test func everyFormHearsMessagesThatSayNothing() async {
        let ping = Channel<Void>(onFault: { _ in })
        ping.listen(owner) { me, _ in me.hear("owner") }
        ping.listen(owner, once: true) { me, message in try me.hearOrThrow("throws \(message)") }
        ping.listen(owner) { me, _ in await me.hearLater("async") }
        ping.listen(owner, on: .global()) { me, _ in me.hear("queue") }
        ping.listen(actor) { me, _ in me.hear("actor") }
        ping.listen(actor) { me, _ in await me.hearLater("actor async") }
        ping.posts.listen(owner) { me, post in me.hear("posts \(post.sender === me)") }
        let tokens = [
            ping.listen { [owner] in owner.hear("token") },
            ping.listen { [owner] in try owner.hearOrThrow("token throws") },
            ping.listen { [owner] in await owner.hearLater("token async") },
            ping.listen(on: .global()) { [owner] in owner.hear("token queue") },
            ping.listen { [owner] _ in owner.hear("token _") },
        ]
        #expect(await ping.postAndWait(from: owner).reachedCount == 12)
        let direct = ["owner", "throws ()", "posts true", "token", "token throws", "token _"]
        #expect(owner.heard.all.filter(direct.contains) == direct)
        let later = ["async", "queue", "token async", "token queue"]
        #expect(owner.heard.all.filter(later.contains).sorted() == later)
        #expect(await actor.heard.sorted() == ["actor", "actor async"])
        #expect(ping.post() == 11)
        #expect(ping.post(from: owner, echo: false) == 7)
        withExtendedLifetime(tokens) {}
    }

    @Test func tuplesAreOneMessageOrSeveralArguments() async {
        let channel = Channel<(Int, text: String)>()
        channel.listen(owner) { me, pair in me.hear("owner \(pair.0) \(pair.text)") }
        channel.listen(actor) { me, pair in me.hear("actor \(pair.0)") }
        channel.posts.listen(owner) { me, post in me.hear("post \(post.message.text)") }
        let tokens = [
            channel.listen { [owner] pair in owner.hear("pair \(pair.0)") },
            channel.listen { [owner] number, text in owner.hear("split \(number) \(text)") },
            channel.listen { [owner] number, text in await owner.hearLater("async \(number) \(text)") },
            channel.listen(on: .global()) { [owner] number, text in owner.hear("queue \(number) \(text)") },
            channel.listen { [owner] in owner.hear("shorthand \($0) \($1)") },
        ]
        #expect(await channel.postAndWait((1, text: "x")).completedCount == 8)
        let heard = ["async 1 x", "owner 1 x", "pair 1", "post x", "queue 1 x", "shorthand 1 x", "split 1 x"]
        #expect(owner.heard.all.sorted() == heard)
        #expect(await actor.heard == ["actor 1"])
        withExtendedLifetime(tokens) {}
    }

    @Test func optionalsAndClosuresAreInferred() async {
        let (texts, work) = (Channel<String?>(), Channel<@Sendable (Int) async throws -> Int>())
        texts.listen(owner) { me, text in me.hear(text ?? "nil") }
        work.listen(owner) { me, work in me.hear("\(try await work(3))") }
        #expect(texts.post(nil) + texts.post("x") == 2)
        await work.postAndWait { $0 + 1 }
        #expect(owner.heard.all == ["nil", "x", "4"])
    }

    @Test func valuesObjectsClosuresAndExistentialsArrive() async {
        #expect(MemoryLayout<Page>.size > 1_024)
        #expect(MemoryLayout<Empty>.size == 0)
        await arrives(Page(title: "first")) { $0 == Page(title: "first") }
        await arrives(Empty()) { $0 == Empty() }
        await arrives(UInt8.max) { $0 == .max }
        await arrives(SIMD64<UInt8>(repeating: 3)) { $0 == SIMD64(repeating: 3) }
        await arrives(String(repeating: "long", count: 100)) { $0 == String(repeating: "long", count: 100) }
        await arrives(Choice.nested(.nested(.none, "a"), "b")) { $0 == .nested(.nested(.none, "a"), "b") }
        await arrives(Int??.some(.none)) { $0 == .some(.none) }
        let (parcel, work): (Parcel, @Sendable (Int) -> Int) = (Parcel(), { $0 * 2 })
        await arrives(parcel) { $0 === parcel }
        await arrives(["a": [1, 2]]) { $0 == ["a": [1, 2]] }
        await arrives((1, "x", parcel)) { $0.0 == 1 && $0.1 == "x" && $0.2 === parcel }
        await arrives(()) { $0 == () }
        await arrives(Int?.none) { $0 == nil }
        await arrives(Int?.some(4)) { $0 == 4 }
        await arrives(Result<Int, Trouble>.failure(Trouble())) { $0 == .failure(Trouble()) }
        await arrives(work) { $0(21) == 42 }
        await arrives(Square(area: 9) as any Shape) { $0.area == 9 }
        await arrives("text" as any Sendable) { $0 as? String == "text" }
        await arrives(Trouble(text: "x") as any Error) { ($0 as? Trouble)?.text == "x" }
        await arrives(Int.self as Any.Type) { $0 == Int.self }
    }

    private func arrives<Message: Sendable>(_ message: Message, isRight: @Sendable @escaping (Message) -> Bool) async {
        for reentrancy in [Reentrancy.nested(limit: 64), .queued] {
            let (channel, state) = (Channel<Message>(reentrancy: reentrancy), StateChannel(message))
            let (owners, heard) = (FormOwners(), Recorder<Bool>())
            let tokens = ListenForm.allCases.flatMap { form in
                [
                    form.listen(to: channel, owners) { heard.record(isRight($0)) },
                    form.listen(to: channel.posts, owners, buffering: .oldest(9)) { heard.record(isRight($0.message)) },
                    form.listen(to: state, owners) { heard.record(isRight($0)) },
                ]
            }
            let interceptor = channel.intercept { post in isRight(post.message) ? .replace(post.message) : .stop }
            var read = channel.messages().makeAsyncIterator()
            var readPosts = channel.posts.messages(buffering: .newest(9)).makeAsyncIterator()
            var readValues = state.messages().makeAsyncIterator()
            for _ in 0..<2 {
                #expect(await channel.postAndWait(message).completedCount == 22)
                state.set(message)
            }
            #expect(await heard.first(70) == Array(repeating: true, count: 70))
            for _ in 0..<2 { #expect(await read.next().map(isRight) == true) }
            for _ in 0..<2 { #expect(await readPosts.next().map { isRight($0.message) } == true) }
            #expect(await readValues.next().map(isRight) == true)
            let local = LocalChannel<Message>(reentrancy: reentrancy)
            let localToken = local.listen { heard.record(isRight($0)) }
            #expect(local.post(message) == 1 && heard.all.count == 71 && heard.all.last == true)
            withExtendedLifetime((tokens, interceptor, localToken)) {}
        }
    }
}
