import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rules 2 and 3: the end of a listener.
struct CancellationTests {
    @Test func aListenerCancelledDuringAPostBeforeItsTurnIsNotCalled() {
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let victim = Slot<ListenerToken>()
        let first = channel.listen { _ in
            heard.record("first")
            victim.value?.cancel()
        }
        victim.value = channel.listen { _ in heard.record("victim") }
        let last = channel.listen { _ in heard.record("last") }
        #expect(channel.post(1) == 2)
        #expect(heard.all == ["first", "last"])
        withExtendedLifetime((first, last)) {}
    }

    @Test(arguments: 0..<5)
    func aListenerThatCancelsItselfSkipsNobody(position: Int) {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let own = Slot<ListenerToken>()
        let tokens = (0..<5).map { index in
            channel.listen { _ in
                heard.record(index)
                if index == position { own.value?.cancel() }
            }
        }
        own.value = tokens[position]
        #expect(channel.post(1) == 5)
        #expect(channel.post(2) == 4)
        #expect(heard.all == Array(0..<5) + Array(0..<5).filter { $0 != position })
        withExtendedLifetime(tokens) {}
    }

    @Test func aListenerCancelledByAnInterceptorIsNotCalled() {
        let channel = Channel<Int>()
        let calls = Tally()
        let listener = channel.listen { _ in calls.add() }
        let interceptor = channel.intercept { _ in
            listener.cancel()
            return .continue
        }
        #expect(channel.post(1) == 0)
        #expect(calls.value == 0)
        withExtendedLifetime(interceptor) {}
    }

    /// Each of many tokens is cancelled by two threads while a third posts; every removal happens once.
    @Test func anyThreadMayCancelAgainAndAgainAndEndsTheListenerOnce() async {
        let channel = Channel<Int>()
        let living = Tally()
        var made: [ListenerToken] = []
        for _ in 0..<2_000 {
            let witness = Witness(living)
            made.append(channel.listen { _ in withExtendedLifetime(witness) {} })
        }
        let tokens = made
        let calls = Tally()
        let stays = channel.listen { _ in calls.add() }
        await onThreads(3) { index in
            if index == 2 {
                for message in 0..<200 { channel.post(message) }
            } else {
                for token in tokens { token.cancel() }
                for token in tokens { token.cancel() }
            }
        }
        #expect(channel.listenerCount == 1)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(calls.value == 200)
        #expect(living.value == 0)
        withExtendedLifetime((tokens, stays)) {}
    }

    @Test func afterCancelOnThePostingThreadNoCallBegins() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        channel.post(1)
        token.cancel()
        #expect(channel.post(2) == 0)
        #expect(heard.all == [1])
        #expect(!token.isActive)
    }

    @MainActor @Test func afterCancelOnTheListenersOwnIsolationNoCallBegins() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let owner = Owner()
        let token = channel.listen(owner) { @MainActor _, message in heard.record(message) }
        let marker = channel.listen { @MainActor _ in }
        await onThreads(2) { _ in for message in 0..<100 { channel.post(message) } }
        // On the main actor, between two turns of the mailbox.
        token.cancel()
        let count = heard.count
        await channel.postAndWait(-1)
        #expect(heard.count == count)
        #expect(token.deliveredCount + token.discardedCount == 200)
        #expect(token.deliveredCount == count)
        withExtendedLifetime((owner, marker)) {}
    }

    /// The message has left the mailbox and waits for the actor, which is busy.
    @Test func afterCancelOnAnAsyncListenersOwnIsolationNoCallBegins() async {
        let channel = Channel<Int>()
        let calls = Tally()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let token = channel.listen(actor) { (_: isolated HeldActor, _: Int) async in calls.add() }
        channel.post(1)
        await executor.wait(for: 1)
        let cancelling = Task { await actor.run { _ in token.cancel() } }
        await executor.wait(for: 2)
        // The call waits at its place while the actor cancels.
        await executor.run(at: 1)
        await executor.run()
        await cancelling.value
        #expect(calls.value == 0)
        #expect(token.deliveredCount + token.discardedCount == 1)
        withExtendedLifetime(actor) {}
    }

    @Test(arguments: [BufferingPolicy.unbounded, .newest(50), .oldest(50)])
    func cancelInsideACallDiscardsWhatWaitsBehindIt(policy: BufferingPolicy) async {
        let queue = DispatchQueue.suspended()
        let (channel, living) = (Channel<Witness>(), Tally())
        let heard = Recorder<Int>()
        let own = Slot<ListenerToken>()
        own.value = channel.listen(on: queue, buffering: policy) { message in
            heard.record(message.number)
            if message.number == 2 { own.value?.cancel() }
        }
        for number in 0..<50 { channel.post(Witness(living, number)) }
        queue.resume()
        await living.wait(untilAtMost: 0)
        await queue.settle()
        #expect(heard.all == [0, 1, 2])
        #expect(own.value?.deliveredCount == 3 && own.value?.discardedCount == 47)
    }

    @Test func removeListenersEndsListenersAndInterceptorsOfTheOwnerAndNoOther() {
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let leaving = Owner()
        let staying = Owner()
        for index in 0..<3 {
            channel.listen(leaving) { _, _ in heard.record("leaving \(index)") }
            channel.listen(staying) { _, _ in heard.record("staying \(index)") }
        }
        channel.intercept(leaving) { _, _ in .stop }
        let token = channel.listen { _ in heard.record("token") }
        #expect(channel.post(1) == 0)
        channel.removeListeners(of: leaving)
        #expect(channel.post(2) == 4)
        #expect(heard.all == ["staying 0", "staying 1", "staying 2", "token"])
        withExtendedLifetime((leaving, staying, token)) {}
    }
}
