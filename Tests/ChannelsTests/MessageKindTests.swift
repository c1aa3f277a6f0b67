import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Messages of every size, alignment and ownership reach every kind of listener as they were posted.
struct MessageKindTests {
    struct Empty: Equatable, Sendable {}

    struct Large: Equatable, Sendable {
        var text = "large"
        var numbers: (Int, Int, Int, Int, Int, Int, Int, Int) = (1, 2, 3, 4, 5, 6, 7, 8)
        var vector = SIMD16<Double>(repeating: 0.5)
        var rest: [String] = ["a", "b"]

        static func == (left: Large, right: Large) -> Bool {
            left.text == right.text && left.numbers.7 == right.numbers.7 && left.vector == right.vector
                && left.rest == right.rest
        }
    }

    enum Choice: Equatable, Sendable {
        case none
        case number(Int8)
        indirect case nested(Choice, String)
    }

    private func deliver<Message: Sendable & Equatable>(_ messages: [Message]) async {
        for reentrancy in [Reentrancy.nested(limit: 64), .queued] {
            let channel = Channel<Message>(reentrancy: reentrancy)
            let heard = (0..<9).map { _ in Recorder<Message>() }
            let owner = Owner()
            let clerk = Clerk()
            let tokens = [
                channel.listen { heard[0].record($0) },
                channel.posts.listen { heard[1].record($0.message) },
                channel.listen { (message: Message) async in heard[2].record(message) },
                channel.listen(on: .global(), buffering: .newest(100)) { heard[3].record($0) },
                channel.listen { @MainActor message in heard[4].record(message) },
                channel.intercept { post in
                    heard[5].record(post.message)
                    return .replace(post.message)
                },
            ]
            channel.listen(owner) { _, message in heard[6].record(message) }
            channel.listen(owner) { [captured = Large()] _, message in
                if captured == Large() { heard[7].record(message) }
            }
            channel.listen(clerk, buffering: .oldest(100)) { (_: isolated Clerk, message) in heard[8].record(message) }
            let sequence = channel.messages()
            for message in messages.dropLast() { channel.post(message) }
            await channel.postAndWait(messages.last!)
            for (kind, heard) in heard.enumerated() {
                #expect(heard.all == messages, "listener \(kind), \(reentrancy)")
            }
            var iterator = sequence.makeAsyncIterator()
            for message in messages { #expect(await iterator.next() == message) }
            withExtendedLifetime((tokens, owner, clerk)) {}
        }
        let state = StateChannel(messages[0])
        let heard = Recorder(of: state)
        for message in messages.dropFirst() { state.set(message) }
        #expect(heard.all == messages)
        let local = LocalChannel<Message>()
        let localToken = local.listen { heard.record($0) }
        for message in messages { local.post(message) }
        #expect(heard.all == messages + messages)
        withExtendedLifetime(localToken) {}
    }

    @Test func anEmptyStruct() async { await deliver([Empty(), Empty()]) }
    @Test func aByte() async { await deliver([UInt8.min, 7, .max]) }
    @Test func aString() async { await deliver(["", "short", String(repeating: "long", count: 100)]) }
    @Test func aLargeAndOverAlignedStruct() async { await deliver([Large(), Large(text: "other")]) }
    @Test func anEnumWithPayloads() async {
        await deliver([Choice.none, .number(-3), .nested(.nested(.none, "a"), "b")])
    }
    @Test func anOptionalOfAnOptional() async { await deliver([Int??.none, .some(.none), .some(.some(3))]) }
    @Test func aDictionary() async { await deliver([[:], ["a": [1, 2]], ["b": []]]) }
    @Test func anObject() async { await deliver([Reference(1), Reference(2)]) }
    @Test func aVector() async { await deliver([SIMD64<UInt8>(repeating: 1), SIMD64<UInt8>(repeating: 2)]) }

    @Test func anExistentialATupleAndAClosure() async {
        let existential = Channel<any Sendable>()
        let tuple = Channel<(Int, String, Witness?)>()
        let closure = Channel<@Sendable (Int) -> Int>()
        let heard = Recorder<String>()
        let living = Tally()
        let tokens = [
            existential.listen { heard.record("\($0)") },
            existential.listen { (message: any Sendable) async in heard.record("async \(message)") },
            tuple.listen { heard.record("\($0.0) \($0.1)") },
            tuple.listen { (message: (Int, String, Witness?)) async in heard.record("async \(message.0) \(message.1)")
            },
            closure.listen { heard.record("\($0(20))") },
            closure.listen { (message: @escaping @Sendable (Int) -> Int) async in heard.record("async \(message(20))")
            },
        ]
        await existential.postAndWait(Large().text)
        await tuple.postAndWait((1, "one", Witness(living)))
        await closure.postAndWait { $0 + 1 }
        #expect(heard.all == ["large", "async large", "1 one", "async 1 one", "21", "async 21"])
        await living.wait(untilAtMost: 0)
        withExtendedLifetime(tokens) {}
    }

    @Test func nothing() async {
        let channel = Channel<Void>()
        let calls = Tally()
        let owner = Owner()
        channel.listen(owner) { _, _ in calls.add() }
        let token = channel.listen { () async in calls.add() }
        let sequence = channel.messages()
        for _ in 0..<3 { #expect(channel.post() == 3) }
        await channel.postAndWait(())
        #expect(calls.value == 8)
        #expect(sequence.waitingCount == 4)
        withExtendedLifetime((owner, token)) {}
    }
}

private final class Reference: Sendable, Equatable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (left: Reference, right: Reference) -> Bool { left === right }
}
