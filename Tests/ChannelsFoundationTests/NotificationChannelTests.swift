import Channels
import ChannelsFoundation
import ChannelsTesting
import Dispatch
import Foundation
import Testing

@Suite(.hangLimit)
struct NotificationChannelTests {
    let center = NotificationCenter()
    let seen = Tally()

    @Test func listenersHearWhatTheCenterPosts() {
        let heard = Recorder(of: center.numbers())
        center.post(1)
        center.post(2)
        #expect(heard.all == [1, 2])
    }

    @Test func notificationWithoutAMessageIsNotHeard() {
        let heard = Recorder(of: center.numbers())
        center.post(name: .sold, object: nil)
        center.post(3)
        #expect(heard.all == [3])
    }

    @Test func nobodyIsRegisteredBeforeTheFirstListenerAndAfterTheLast() {
        let channel = center.numbers(seen)
        center.post(1)
        #expect(seen.value == 0)
        let first = channel.listen { _ in }
        let second = channel.listen { _ in }
        center.post(2)
        #expect(seen.value == 1)  // one observer for both
        first.cancel()
        center.post(3)
        #expect(seen.value == 2)
        second.cancel()
        center.post(4)
        #expect(seen.value == 2)
        let third = channel.listen { _ in }
        center.post(5)
        #expect(seen.value == 3)
        withExtendedLifetime(third) {}
    }

    @Test func listenerWithOnceEndsTheRegistration() {
        let token = center.numbers(seen).listen(once: true) { _ in }
        center.post(1)
        center.post(2)
        #expect(seen.value == 1)
        #expect(!token.isActive)
    }

    @Test func pausedListenerKeepsTheRegistrationAndCountsWhatItMisses() {
        let heard = Recorder<Int>()
        let token = center.numbers(seen).listen { heard.record($0) }
        token.pause()
        center.post(1)
        token.resume()
        center.post(2)
        #expect(heard.all == [2])
        #expect(seen.value == 2)
        #expect(token.missedCount == 1)
    }

    @Test func channelLivesAsLongAsItHasListeners() async {
        weak var channel: NotificationChannel<Int>?
        let heard = Recorder<Int>()
        let token: ListenerToken
        do {
            let made = center.numbers()
            channel = made
            token = made.listen { heard.record($0) }
        }
        center.post(1)
        #expect(heard.all == [1])
        #expect(channel != nil)
        token.cancel()
        await wait(for: channel) { $0 == nil }
    }

    @Test func ownerThatDiesSilentlyEndsTheRegistrationAtTheNextNotification() async {
        weak var channel: NotificationChannel<Int>?
        do {
            let owner = Owner()
            let made = center.numbers(seen)
            channel = made
            made.listen(owner) { _, _ in }
        }
        center.post(1)
        await wait(for: channel) { $0 == nil }
        let count = seen.value
        center.post(2)
        #expect(seen.value == count)
    }

    @Test func registrationsOfDeadOwnersDoNotPileUpWhereNothingIsPosted() {
        struct Weak { weak var channel: NotificationChannel<Int>? }
        var made: [Weak] = []
        for _ in 0..<1_000 {
            let owner = Owner()
            let channel = center.numbers()
            made.append(Weak(channel: channel))
            channel.listen(owner) { _, _ in }
        }
        // Other tests create such channels at the same time, which are looked at, too.
        #expect(made.count { $0.channel != nil } < 500)
    }

    @Test func listenersEndWithTheCenter() async {
        var center: NotificationCenter? = NotificationCenter()
        let token = center?.numbers().listen { _ in }
        #expect(token?.isActive == true)
        center = nil
        await wait(for: token?.isActive) { $0 == false }
    }

    @Test func sequenceHearsWhatIsPostedAfterItWasMade() async {
        let numbers = center.numbers(seen).messages()
        center.post(1)
        center.post(2)
        var iterator = numbers.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
    }

    @Test func sequenceThatIsReleasedEndsTheRegistration() {
        do {
            let numbers = center.numbers(seen).messages()
            withExtendedLifetime(numbers) {}
        }
        center.post(1)
        #expect(seen.value == 0)
    }

    @Test func listenersAreCalledByPriority() {
        let heard = Recorder<String>()
        let channel = center.numbers()
        let tokens = [
            channel.listen(priority: .low) { _ in heard.record("low") },
            channel.listen(priority: .high) { _ in heard.record("high") },
        ]
        center.post(1)
        #expect(heard.all == ["high", "low"])
        withExtendedLifetime(tokens) {}
    }

    @Test func listenerWithoutIsolationIsCalledOnThePostingThread() async {
        let heard = Recorder<Bool>()
        let token = center.numbers().listen { _ in heard.record(Poster.isPosting) }
        let center = center
        await onThreads(1) { _ in
            Poster.$isPosting.withValue(true) { center.post(1) }
        }
        #expect(heard.all == [true])
        withExtendedLifetime(token) {}
    }

    @MainActor
    @Test func mainActorListenerIsCalledBeforePostReturnsOnTheMainQueue() {
        let heard = Recorder<Int>()
        let token = center.numbers().listen { heard.record($0) }
        center.post(1)
        #expect(heard.all == [1])
        withExtendedLifetime(token) {}
    }

    @Test func mainActorListenerIsCalledThereWhereverThePostIsMade() async {
        let heard = Recorder<Int>()
        let token = center.numbers().listen { @MainActor number in
            MainActor.assertIsolated()
            heard.record(number)
        }
        let center = center
        await onThreads(1) { _ in center.post(1) }
        #expect(await heard.first(1) == [1])
        withExtendedLifetime(token) {}
    }

    @Test func onlyTheObjectGivenIsHeard() {
        let object = Owner()
        let heard = Recorder(of: center.channel(for: .sold, object: object) { $0.userInfo?["number"] as? Int })
        center.post(1)
        center.post(name: .sold, object: Owner(), userInfo: ["number": 2])
        center.post(name: .sold, object: object, userInfo: ["number": 3])
        #expect(heard.all == [3])
    }

    @Test func channelDoesNotKeepTheObjectAlive() async {
        weak var object: Owner?
        let channel: NotificationChannel<Int>
        do {
            let made = Owner()
            object = made
            channel = center.channel(for: .sold, object: made) { _ in 1 }
            channel.listen(made) { _, _ in }
        }
        await wait(for: object) { $0 == nil }
    }

    @Test func listenerMayCancelItselfAndListenAgain() {
        let heard = Recorder<Int>()
        let channel = center.numbers(seen)
        let tokens = Tokens()
        @Sendable func listen() {
            tokens.replace(
                channel.listen { number in
                    heard.record(number)
                    listen()
                }
            )
        }
        listen()
        for number in 1...5 { center.post(number) }
        #expect(heard.all == [1, 2, 3, 4, 5])
        #expect(seen.value == 5)
        tokens.replace(nil)
        center.post(6)
        #expect(seen.value == 5)
    }

    @Test func whatIsPostedAfterListenIsHeardWhateverOtherThreadsDo() async {
        let center = center
        let channel = center.numbers()
        let missed = Tally()
        await onThreads(4) { thread in
            for round in 0..<500 {
                let number = thread * 1_000 + round
                let heard = Recorder<Int>()
                let token = channel.listen { heard.record($0) }
                center.post(number)
                if !heard.all.contains(number) { missed.add() }
                token.cancel()
            }
        }
        #expect(missed.value == 0)
        #expect(channel.isEmpty)
    }

    @Test func registrationIsGoneAfterThreadsHaveAddedAndRemovedListeners() async {
        weak var channel: NotificationChannel<Int>?
        do {
            let made = center.numbers(seen)
            channel = made
            await onThreads(4) { _ in
                for _ in 0..<500 { made.listen { _ in }.cancel() }
            }
        }
        await wait(for: channel) { $0 == nil }
        center.post(1)
        #expect(seen.value == 0)
    }

    /// The object is released for the last time while the channel registers, and its deinit uses the channel.
    @Test func objectMayDieWhileItsChannelRegisters() async {
        for _ in 0..<200 {
            let slot = Recorder<ListenerToken>()
            var object: Dying? = Dying { for token in slot.takeAll() { token.cancel() } }
            let channel = center.channel(for: .sold, object: object) { _ in 1 }
            slot.record(channel.listen { _ in })
            let started = Tally()
            let listening = Task.detached {
                started.add()
                for _ in 0..<20 { channel.listen { _ in }.cancel() }
            }
            await started.wait(until: 1)
            object = nil
            await listening.value
            #expect(channel.isEmpty)
        }
    }

    @Test func postsNameTheNotification() {
        let heard = Recorder<String>()
        let token = center.numbers().posts.listen { heard.record($0.channelName ?? "") }
        center.post(1)
        #expect(heard.all == ["sold"])
        withExtendedLifetime(token) {}
    }
}

/// Whether the thread is inside a post.
private enum Poster {
    @TaskLocal static var isPosting = false
}

private final class Dying: Sendable {
    private let atEnd: @Sendable () -> Void

    init(atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }

    deinit { atEnd() }
}

/// A token that is replaced, without a lock held while it is released.
final class Tokens: Sendable {
    private let box = Recorder<ListenerToken>()

    func replace(_ token: ListenerToken?) {
        let old = box.takeAll()
        if let token { box.record(token) }
        for token in old { token.cancel() }
    }
}
