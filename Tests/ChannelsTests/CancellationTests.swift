import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rules 2 and 3: the end of a listener.
struct CancellationTests {
    @Test func aListenerCancelledDuringAPostAndNotYetReachedIsNotCalled() {
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

    @Test func everyListenerMayCancelEveryOtherDuringAPost() {
        let channel = Channel<Int>()
        let calls = Tally()
        let tokens = Recorder<ListenerToken>()
        for _ in 0..<100 {
            tokens.record(
                channel.listen { _ in
                    calls.add()
                    for token in tokens.all { token.cancel() }
                }
            )
        }
        #expect(channel.post(1) == 1)
        #expect(calls.value == 1)
        #expect(channel.isEmpty)
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
    @Test func cancelMayBeCalledAnyNumberOfTimesByAnyThreadAndEndsTheListenerOnce() async {
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

    /// The message has left the mailbox and waits for the actor, which is busy here.
    @MainActor @Test func afterCancelOnTheOwnIsolationOfAnAsyncListenerNoCallBegins() async {
        for _ in 0..<20 {
            let channel = Channel<Int>()
            let calls = Tally()
            let token = channel.listen { @MainActor (_: Int) async in calls.add() }
            channel.post(1)
            for _ in 0..<3_000 where token.deliveredCount == 0 { sched_yield() }
            token.cancel()
            await token.cancelAndDrain()
            #expect(calls.value == 0)
            #expect(token.deliveredCount + token.discardedCount == 1)
        }
    }

    @Test func cancelInsideACallDiscardsWhatWaitsBehindIt() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let own = Slot<ListenerToken>()
        own.value = channel.listen(on: queue) { message in
            heard.record(message)
            if message == 2 { own.value?.cancel() }
        }
        for message in 0..<10 { channel.post(message) }
        queue.resume()
        await queue.settle()
        #expect(heard.all == [0, 1, 2])
        #expect(own.value?.deliveredCount == 3)
        #expect(own.value?.discardedCount == 7)
    }

    @Test func aTokenThatGoesEndsItsListenerUnlessThatHasAnOwner() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let owner = Owner()
        _ = channel.listen(owner) { _, message in heard.record(-message) }
        var token: ListenerToken? = channel.listen { heard.record($0) }
        #expect(channel.post(1) == 2)
        withExtendedLifetime(token) {}
        token = nil
        #expect(channel.post(2) == 1)
        #expect(heard.all == [-1, 1, -2])
        withExtendedLifetime(owner) {}
    }

    @Test func tokensInASetEndTheirListenersTogether() {
        let channel = Channel<Int>()
        var tokens: Set<ListenerToken> = []
        for _ in 0..<10 { channel.listen { _ in }.store(in: &tokens) }
        #expect(channel.listenerCount == 10)
        tokens = []
        #expect(channel.isEmpty)
    }

    @Test func removeListenersEndsEveryListenerAndInterceptorOfTheOwnerAndNoOther() {
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

    /// What is posted in a turn of a state has its place behind the values set before, which nobody may hear.
    @MainActor @Test func aPostDoesNotWaitForTheTurnOfAListenerThatHasBeenCancelled() {
        let state = StateChannel(0)
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let cancelled = Slot<ListenerToken>()
        let first = listenWithoutIsolation(to: state) { value in
            guard value == 1 else { return }
            MainActor.assumeIsolated {
                state.set(2)
                cancelled.value?.cancel()
                channel.post(3)
            }
            #expect(heard.all == [3])
        }
        cancelled.value = state.listen { @MainActor _ in }
        let token = channel.listen { @MainActor message in heard.record(message) }
        state.set(1)
        withExtendedLifetime((first, token)) {}
    }

    /// A closure written on the main actor would be isolated to it.
    nonisolated private func listenWithoutIsolation(
        to state: StateChannel<Int>,
        _ body: @escaping @Sendable (Int) -> Void
    ) -> ListenerToken {
        state.listen { body($0) }
    }
}
