import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Messages are released on every path: delivered, dropped, discarded, queued, replaced, left in a sequence.
struct MessageLifetimeTests {
    private let living = Tally()

    @Test func deliveredMessagesAreReleased() async {
        let channel = Channel<Witness>()
        let clerk = Clerk()
        channel.listen(clerk) { (_: isolated Clerk, _: Witness) in }
        let tokens = [
            channel.listen { _ in },
            channel.listen { (_: Witness) async in },
            channel.listen(on: .global()) { _ in },
            channel.listen(once: true) { _ in },
        ]
        for number in 0..<100 { channel.post(Witness(living, number)) }
        await channel.postAndWait(Witness(living))
        await living.wait(untilAtMost: 0)
        withExtendedLifetime((tokens, clerk)) {}
    }

    @Test(arguments: [BufferingPolicy.oldest(2), .newest(2)])
    func droppedMessagesAreReleased(policy: BufferingPolicy) {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Witness> { _ in }
        let token = channel.listen(on: queue, buffering: policy) { _ in }
        let messages = channel.messages(buffering: policy)
        for number in 0..<50 { channel.post(Witness(living, number)) }
        #expect(living.value == 2)
        token.cancel()
        #expect(living.value == 2, "the sequence still holds them")
        withExtendedLifetime(messages) {}
        queue.resume()
    }

    @Test(arguments: [BufferingPolicy.unbounded, .newest(8), .oldest(8)], [false, true])
    func aMessageThatHasWaitedLivesUntilItsListenerReturns(policy: BufferingPolicy, hasSender: Bool) async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Witness>()
        let heard = Recorder<Int>()
        let living = living
        let token = channel.listen(on: queue, buffering: policy) { _ in heard.record(living.value) }
        let sender = Owner()
        for number in 0..<4 {
            if hasSender {
                channel.post(Witness(living, number), from: sender)
            } else {
                channel.post(Witness(living, number))
            }
        }
        queue.resume()
        #expect(await heard.wait(count: 4) == [4, 3, 2, 1])
        await living.wait(untilAtMost: 0)
        withExtendedLifetime((token, sender)) {}
    }

    @Test(arguments: [false, true])
    func anAbandonedSequenceReleasesItsBufferAndStopsListening(channelHasGone: Bool) async {
        var channel: Channel<Witness>? = Channel()
        do {
            let messages = channel!.messages()
            for number in 0..<10 { channel!.post(Witness(living, number)) }
            if channelHasGone { channel = nil }
            var iterator = messages.makeAsyncIterator()
            #expect(await iterator.next()?.number == 0)
            #expect(living.value >= 9 && channel?.isEmpty != true)
        }
        #expect(living.value == 0 && channel?.isEmpty != false)
    }

    @Test func messagesThatWaitWhenTheirChannelGoesAreDeliveredFirstAndReleased() async {
        let queue = DispatchQueue.suspended()
        let heard = Recorder<Int>()
        var channel: Channel<Witness>? = Channel()
        let token = channel!.listen(on: queue) { heard.record($0.number) }
        for number in 0..<10 { channel?.post(Witness(living, number)) }
        channel = nil
        #expect(!token.isActive)
        queue.resume()
        #expect(await heard.wait(count: 10) == Array(0..<10))
        #expect(token.deliveredCount == 10 && token.discardedCount == 0)
        await living.wait(untilAtMost: 0)
    }

    @Test func queuedMessagesAreReleased() {
        let channel = Channel<Witness>(reentrancy: .queued(limit: 3)) { _ in }
        let calls = Tally()
        let living = living
        let token = channel.listen { message in
            calls.add()
            for _ in 0..<2 { channel.post(Witness(living, message.number + 1)) }
        }
        channel.post(Witness(living))
        #expect(calls.value == 1 + 2 + 4)
        #expect(living.value == 0)
        withExtendedLifetime(token) {}
    }

    @Test func replacedAndStoppedMessagesAreReleased() {
        let channel = Channel<Witness>()
        let living = living
        let heard = Recorder<Int>()
        let tokens = [
            channel.intercept(priority: .high) { .replace(Witness(living, $0.message.number + 1)) },
            channel.intercept { $0.message.number % 2 == 0 ? .stop : .continue },
            channel.listen { heard.record($0.number) },
        ]
        for number in 0..<10 { channel.post(Witness(living, number)) }
        #expect(heard.all == [1, 3, 5, 7, 9])
        #expect(living.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test func valuesOfAStateAreReleased() async {
        let queue = DispatchQueue.suspended()
        let state = Slot(StateChannel(Witness(living)))
        let living = living
        let token = state.value!.listen(on: queue, buffering: .newest(2)) { _ in }
        let values = state.value!.messages()
        for number in 0..<20 {
            state.value!.set(Witness(living, number))
            state.value!.update { $0 = Witness(living, number) }
        }
        #expect(living.value == 2)
        token.cancel()
        var iterator = values.makeAsyncIterator()
        #expect(await iterator.next()?.number == 19)
        #expect(living.value == 1)
        state.value = nil
        #expect(living.value == 0)
        queue.resume()
    }

    @Test func aReplacedValueLivesUntilTheListenersHaveHeardIt() {
        let state = StateChannel(Witness(living))
        let living = living
        let lived = Recorder<Int>()
        let tokens = [
            state.listen { value in if value.number == 1 { state.set(Witness(living, 2)) } },
            state.listen { value in lived.record(value.number * 10 + living.value) },
        ]
        state.set(Witness(living, 1))
        // The first, which `set` has replaced, is released when that returns.
        #expect(lived.all == [1, 13, 23] && living.value == 1)
        withExtendedLifetime(tokens) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// A message whose deinit posts, released by every kind of loss: no lock may be held.
    @Test func aMessageMayPostInItsDeinitWhereverItIsLost() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let queue = DispatchQueue.suspended()
            let echo = Tally()
            let channel = Channel<Owner> { _ in }
            let small = [BufferingPolicy.oldest(1), .newest(1)].map {
                channel.listen(on: queue, buffering: $0) { _ in }
            }
            let large = channel.listen(on: queue) { _ in }
            let sequence = Slot(channel.messages(buffering: .newest(1)))
            let plain = Owner()
            for _ in 0..<5 {
                channel.post(
                    Owner {
                        echo.add()
                        channel.post(plain)
                    }
                )
            }
            large.cancel()
            for token in small { token.cancel() }
            sequence.value = nil
            #expect(echo.value == 5, "\(echo.value)")
            queue.resume()
        }
    }
    #endif
}
