import Channels
import Dispatch
import Testing

private struct Reading: Equatable, Sendable {
    var sensor: String
    var values: [Double]
}

private enum Change: Equatable, Sendable {
    case added(Int, at: String)
    indirect case both(Change, Change)
    case cleared
}

private final class Parcel: Sendable {
    let weight: Int
    init(weight: Int) { self.weight = weight }
}

private protocol Shape: Sendable { var area: Int { get } }
private struct Square: Shape { var area: Int }
private struct Empty: Equatable, Sendable {}

/// More than a kilobyte.
private struct Page: Equatable, Sendable {
    private var words: InlineWords
    init(_ start: Int) { words = InlineWords(start) }
    var sum: Int { words.sum }

    private struct InlineWords: Equatable, Sendable {
        var a: Row, b: Row, c: Row, d: Row
        init(_ start: Int) { (a, b, c, d) = (Row(start), Row(start), Row(start), Row(start)) }
        var sum: Int { a.sum + b.sum + c.sum + d.sum }
    }

    private struct Row: Equatable, Sendable {
        var a: SIMD64<UInt8>, b: SIMD64<UInt8>, c: SIMD64<UInt8>, d: SIMD64<UInt8>
        var text: String
        init(_ start: Int) {
            let words = SIMD64<UInt8>(repeating: UInt8(start))
            (a, b, c, d) = (words, words, words, words)
            text = "row \(start)"
        }
        var sum: Int { Int(a[0]) + Int(b[63]) + Int(c[7]) + Int(d[1]) }
    }
}

/// Messages of every shape arrive as they were posted: called directly, through a mailbox, and through a
/// sequence.
struct MessageTypeFormTests {
    @Test func voidMessages() async {
        let ping = Channel<Void>()
        let owner = FormListener()
        let view = FormView()
        ping.listen(owner) { me in me.hear("plain") }
        ping.listen(owner) { me in try me.hearOrThrow("throws") }
        ping.listen(owner) { me in await me.hearLater("async") }
        ping.listen(owner, on: .global()) { me in me.hear("queue") }
        ping.listen(owner) { me, _ in me.hear("with message") }
        ping.listen(owner) { me, _, info in me.hear("with info \(info.origin)") }
        ping.listen(view) { @MainActor me in me.hear("main") }
        ping.once(owner) { me in me.hear("once") }
        let token = ping.listen { owner.hear("ownerless") }
        let suspending = ping.listen { await owner.hearLater("ownerless async") }
        #expect(ping.post() == 10)
        #expect(
            owner.heard.all.filter { !["async", "queue", "ownerless async"].contains($0) }
                == ["plain", "throws", "with message", "with info local", "once", "ownerless"]
        )
        #expect(ping.post(from: owner, echo: false) == 3)
        let report = await ping.postAndWait(())
        #expect(report.reached == 9)
        #expect(await view.heard == ["main", "main", "main"])
        #expect(owner.heard.all.filter { $0 == "async" }.count == 2)
        withExtendedLifetime((token, suspending)) {}
    }

    @Test func voidMessagesOfAnActor() async {
        let ping = Channel<Void>()
        let actor = FormActor()
        ping.listen(actor) { (me: isolated FormActor) in me.hear("sync") }
        ping.listen(actor) { (me: isolated FormActor) in
            await Task.yield()
            me.hear("async")
        }
        ping.once(actor) { (me: isolated FormActor) in me.hear("once") }
        let report = await ping.postAndWait(())
        #expect(report.completed == 3)
        #expect(await actor.heard.sorted() == ["async", "once", "sync"])
    }

    @Test func tuples() async {
        let channel = Channel<(Int, text: String)>()
        let owner = FormListener()
        channel.listen(owner) { me, pair in me.hear("\(pair.0) \(pair.text)") }
        channel.listen(owner, context: 1) { me, pair, one in me.hear("\(pair.0 + one)") }
        let token = channel.listen { pair in owner.hear(pair.text) }
        #expect(channel.post((1, text: "x")) == 3)
        #expect(channel.post((2, "y"), from: owner, echo: false) == 1)
        #expect(owner.heard.all == ["1 x", "2", "x", "y"])
        withExtendedLifetime(token) {}
    }

    @Test func twoParametersAreMessageAndInfoAlsoForPairs() {
        let channel = Channel<(Int, String)>()
        let log = FormLog<String>()
        let informed = channel.listen { pair, info in log.add("\(pair.0) \(info.origin)") }
        let split = channel.listen { (number: Int, text: String) in log.add("\(number) \(text)") }
        #expect(channel.post((1, "x")) == 2)
        #expect(log.all == ["1 local", "1 x"])
        withExtendedLifetime((informed, split)) {}
    }

    @Test func structsEnumsAndClasses() async {
        let reading = Reading(sensor: String(repeating: "long", count: 20), values: [1, 2])
        await arrives(reading) { $0 == reading }
        await arrives(Change.both(.added(1, at: "x"), .cleared)) { $0 == .both(.added(1, at: "x"), .cleared) }
        let parcel = Parcel(weight: 3)
        await arrives(parcel) { $0 === parcel }
        await arrives("text") { $0 == "text" }
        await arrives(["a": [1, 2]]) { $0 == ["a": [1, 2]] }
    }

    @Test func bigAndEmptyStructs() async {
        #expect(MemoryLayout<Page>.size > 1_024)
        #expect(MemoryLayout<Empty>.size == 0)
        await arrives(Page(3)) { $0 == Page(3) && $0.sum == 48 }
        await arrives(Empty()) { $0 == Empty() }
    }

    @Test func optionals() async {
        await arrives(Int?.none) { $0 == nil }
        await arrives(Int?.some(4)) { $0 == 4 }
        let channel = Channel<String?>()
        let log = FormLog<String?>()
        let token = channel.listen { text in log.add(text) }
        #expect(channel.post(nil) == 1)
        #expect(channel.post("x") == 1)
        #expect(log.all == [nil, "x"])
        withExtendedLifetime(token) {}
    }

    @Test func closures() async {
        typealias Work = @Sendable (Int) -> Int
        let work: Work = { $0 * 2 }
        await arrives(work) { $0(21) == 42 }
        let channel = Channel<Work>()
        let log = FormLog<Int>()
        let token = channel.listen { work in log.add(work(3)) }
        #expect(channel.post { $0 + 1 } == 1)
        #expect(log.all == [4])
        let later = Channel<@Sendable () async throws -> String>()
        let owner = FormListener()
        later.listen(owner) { me, work in me.hear(try await work()) }
        await later.postAndWait { "done" }
        #expect(owner.heard.all == ["done"])
        withExtendedLifetime(token) {}
    }

    @Test func existentials() async {
        await arrives(Square(area: 9) as any Shape) { $0.area == 9 }
        await arrives("text" as any Sendable) { $0 as? String == "text" }
        await arrives(FormError(text: "x") as any Error) { ($0 as? FormError)?.text == "x" }
        let shapes = Channel<any Shape>()
        let log = FormLog<Int>()
        let token = shapes.listen { shape in log.add(shape.area) }
        shapes.post(Square(area: 4))
        #expect(log.all == [4])
        withExtendedLifetime(token) {}
    }

    @Test func metatypesResultsAndTasks() async {
        await arrives(Int.self as Any.Type) { $0 == Int.self }
        await arrives(Result<Int, FormError>.failure(FormError(text: "no"))) { $0 == .failure(FormError(text: "no")) }
        let task = Task { 5 }
        await arrives(task) { $0 == task }
    }

    /// A generic context, in which the type of the message is not known.
    private func arrives<Message: Sendable>(_ message: Message, isRight: @Sendable @escaping (Message) -> Bool) async {
        let channel = Channel<Message>()
        let owner = FormListener()
        let view = FormView()
        channel.listen(owner) { me, message in me.hear("direct \(isRight(message))") }
        channel.listen(owner) { me, message, _ in me.hear("info \(isRight(message))") }
        channel.listen(owner, context: message) { me, message, other in
            me.hear("context \(isRight(message) && isRight(other))")
        }
        channel.listen(owner) { me, message in await me.hearLater("async \(isRight(message))") }
        channel.listen(owner, on: .global()) { me, message in me.hear("queue \(isRight(message))") }
        channel.listen(view) { @MainActor me, message in me.hear("main \(isRight(message))") }
        let token = channel.listen { message in owner.hear("ownerless \(isRight(message))") }
        channel.intercept(owner) { _, message in isRight(message) ? .replace(message) : .stop }
        let sequence = channel.messages()
        for _ in 0..<3 {
            let report = await channel.postAndWait(message)
            #expect(report.completed == 8)
        }
        let kinds = ["async", "context", "direct", "info", "ownerless", "queue"]
        #expect(owner.heard.all.sorted() == kinds.flatMap { Array(repeating: "\($0) true", count: 3) })
        #expect(await view.heard == ["main true", "main true", "main true"])
        var iterator = sequence.makeAsyncIterator()
        for _ in 0..<3 { #expect(await iterator.next().map(isRight) == true) }
        withExtendedLifetime(token) {}
    }
}
