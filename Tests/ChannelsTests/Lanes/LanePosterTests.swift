import Channels
import ChannelsTesting
import Testing

/// Rule 7: posts on the lane's own actor.
struct LanePosterTests {
    @MainActor @Test func aPostOnTheActorWaitsWhereMessagesWaitForTheListener() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { message in heard.record(message) }
        onAnotherThread { channel.post(1) }
        channel.post(2)
        #expect(heard.all == [])
        #expect(await heard.wait(count: 2) == [1, 2])
        withExtendedLifetime(token) {}
    }

    @MainActor @Test func aPostOnTheActorWaitsWhereAnEarlierOneMadeThereWaitsInTheLane() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let tokens = [first, second].map { $0.listen { message in heard.record(message) } }
        onAnotherThread { first.post(1) }
        first.post(2)
        second.post(3)
        #expect(heard.all == [])
        #expect(await heard.wait(count: 3) == [1, 2, 3])
        withExtendedLifetime(tokens) {}
    }

    @MainActor @Test func whatOthersHavePostedElsewhereDoesNotKeepAPostOnTheActorWaiting() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let tokens = [first, second].map { $0.listen { message in heard.record(message) } }
        onAnotherThread { for number in 0..<10 { first.post(number) } }
        second.post(10)
        #expect(heard.all == [10])
        let all = await heard.wait(count: 11)
        #expect(all == [10] + Array(0..<10))
        withExtendedLifetime(tokens) {}
    }

    @Test func whatTwoTasksOfAnActorPostThereOneAfterTheOtherIsHeardInTheOrderPosted() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [first, second] { channel.listen(actor) { _, message in heard.record(message) } }
        let other = Task { await actor.run { _ = second.post(3, isolation: $0) } }
        await executor.wait(for: 1)
        let one = Task { await actor.run { _ = first.post(2, isolation: $0) } }
        await executor.wait(for: 2)
        first.post(1)
        // The drain's job comes last.
        await executor.wait(for: 3)
        await executor.run(at: 1)
        #expect(heard.all == [])
        await executor.run(at: 0)
        #expect(heard.all == [])
        await executor.run { heard.count == 3 }
        #expect(heard.all == [1, 2, 3])
        await one.value
        await other.value
    }

    /// Parts of a program that do not know of each other share the main actor. In a process where nothing else runs
    /// there.
    @Test func whatAnotherTaskOfTheMainActorHasPostedDoesNotKeepAPostWaiting() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            await Task { @MainActor in
                let (first, second) = (Channel<Int>(), Channel<Int>())
                let heard = Recorder<Int>()
                let tokens = [first, second].map { $0.listen { message in heard.record(message) } }
                // Its job comes before that of the drain.
                let other = Task { _ = second.post(3) }
                onAnotherThread { first.post(1) }
                first.post(2)
                #expect(heard.all == [])
                await other.value
                #expect(await heard.wait(count: 3) == [3, 1, 2])
                withExtendedLifetime(tokens) {}
            }.value
        }
    }

    /// Each call is made by another task, because nothing waits in between. In a process where nothing else runs on the
    /// main actor.
    @Test func whatAnAsyncListenerOnTheMainActorPostsInTwoCallsIsHeardInTheOrderPosted() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            await Task { @MainActor in
                let (causes, busy, free) = (Channel<Int>(), Channel<Int>(), Channel<Int>())
                let (heard, calls) = (Recorder<Int>(), Recorder<Int>())
                // The lane is behind for some 60 turns.
                let tokens = [busy, free].map { channel in
                    channel.listen { message in
                        let start = ContinuousClock.now
                        while message == 0, .now - start < .microseconds(20) {}
                        heard.record(message)
                    }
                }
                let cause = causes.listen { message in
                    await Task.yield()
                    (message == 1 ? busy : free).post(message)
                    calls.record(message)
                }
                onAnotherThread { for _ in 0..<3_000 { busy.post(0) } }
                for message in 1...2 {
                    causes.post(message)
                    await calls.wait(count: message)
                }
                #expect(await heard.wait(count: 3_002).filter { $0 > 0 } == [1, 2])
                withExtendedLifetime((tokens, cause)) {}
            }.value
        }
    }

    @Test func whatWaitedForACancelledListenerDoesNotKeepAPostWaiting() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let tokens = [first, second].map { $0.listen(actor) { _, message in heard.record(message) } }
        first.post(1)
        // The drain's job.
        await executor.wait(for: 1)
        let one = Task {
            await actor.run { me in
                first.post(2, isolation: me)
                tokens[0].cancel()
                second.post(3, isolation: me)
            }
        }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        #expect(heard.all == [3])
        await executor.run()
        await one.value
    }

    /// Otherwise the post would be heard in another order than its listeners have.
    @Test func whereTheFirstListenerOfAPostOnTheActorWaitsTheOthersWaitBehindIt() async {
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        let names = ["first", "second", "third"]
        let tokens = names.map { name in channel.listen(actor) { _, message in heard.record("\(name) \(message)") } }
        for token in tokens.dropFirst() { token.pause() }
        channel.post(1)
        for token in tokens { token.resume() }
        await executor.wait(for: 1)
        let task = Task {
            await actor.run {
                #expect(channel.post(2, isolation: $0) == 3)
                #expect(heard.count == 0)
            }
        }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        await executor.run { heard.count == 4 }
        #expect(heard.all == ["first 1", "first 2", "second 2", "third 2"])
        await task.value
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: [BufferingPolicy.unbounded, .newest(4), .oldest(4)])
    func onceEverythingPostedOnTheActorHasBeenHeardAPostThereIsHeardAtOnce(policy: BufferingPolicy) async {
        let (busy, free) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [busy, free] {
            channel.listen(actor, buffering: policy) { _, message in heard.record(message) }
        }
        busy.post(1)
        await executor.wait(for: 1)
        let task = Task {
            await actor.run { busy.post(2, isolation: $0) }
            _ = await heard.wait(count: 2)
            await actor.run {
                free.post(3, isolation: $0)
                #expect(heard.all == [1, 2, 3])
            }
        }
        await executor.wait(for: 2)
        await executor.run(at: 1)
        await executor.run { heard.count == 3 }
        await task.value
    }

    /// One turn of the lane ends, and another task goes on: it is the same listeners that post.
    @Test func whatListenersPostInDifferentTurnsOfTheirLaneIsHeardInTheOrderPosted() async {
        let (causes, busy, free) = (Channel<Int>(), Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [busy, free] { channel.listen(actor) { _, message in heard.record(message) } }
        causes.listen(actor) { me, message in
            let start = ContinuousClock.now
            // The turn is over with this call.
            while message == 1, .now - start < .milliseconds(3) {}
            (message == 1 ? busy : free).post(message, isolation: me)
        }
        causes.post(1)
        causes.post(2)
        busy.post(0)
        await executor.run { heard.count == 3 }
        #expect(heard.all == [0, 1, 2])
    }

    /// The helper does not say where it runs, and the listener runs on its actor, called by its lane or by a post.
    @Test(arguments: [false, true])
    func whatAListenerPostsThroughAHelperWithoutIsolationIsHeardBeforeWhatItPostsNext(isCalledByAPost: Bool) async {
        let (causes, first, second) = (Channel<Int>(), Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [first, second] { channel.listen(actor) { _, message in heard.record(message) } }
        causes.listen(actor) { me, message in
            first.post(message, isolation: nil)
            second.post(message + 1, isolation: me)
        }
        let task = Task {
            guard isCalledByAPost else {
                _ = causes.post(1)
                return
            }
            await actor.run { _ = causes.post(1, isolation: $0) }
        }
        await executor.run { heard.count == 2 }
        #expect(heard.all == [1, 2])
        await task.value
    }

    /// The observer does not say where it runs.
    @Test func whatAnObserverPostsWhereTheActorNotifiesItIsHeardBeforeWhatTheActorPostsNext() async {
        final class Observer: Sendable {
            let first: Channel<Int>

            init(_ first: Channel<Int>) { self.first = first }

            func isNotified() { first.post(1) }
        }
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [first, second] { channel.listen(actor) { _, message in heard.record(message) } }
        let observer = Observer(first)
        let observers = ProtocolChannel<Observer>()
        observers.add(observer)
        let task = Task {
            await actor.run { me in
                observers.notify(isolation: me) { $0.isNotified() }
                second.post(2, isolation: me)
            }
        }
        await executor.run { heard.count == 2 }
        #expect(heard.all == [1, 2])
        await task.value
    }

    @Test func whatAListenerWithoutIsolationSetsInAPostOfTheActorIsHeardBeforeWhatThatPostsNext() async {
        let (trigger, other, state) = (Channel<Int>(), Channel<Int>(), StateChannel(0))
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        state.listen(actor) { _, value in heard.record(value) }
        other.listen(actor) { _, message in heard.record(message) }
        let token = trigger.listen { state.set($0) }
        await executor.run { heard.count == 1 }
        let task = Task {
            await actor.run {
                trigger.post(1, isolation: $0)
                other.post(2, isolation: $0)
            }
        }
        await executor.run { heard.count == 3 }
        #expect(heard.all == [0, 1, 2])
        await task.value
        withExtendedLifetime(token) {}
    }

    @Test func whatWaitsOnAQueuedChannelForAPostOfTheActorIsHeardBeforeWhatThatPostsNext() async {
        let (trigger, other) = (Channel<Int>(reentrancy: .queued), Channel<Int>())
        let heard = Recorder<Int>()
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        for channel in [trigger, other] { channel.listen(actor) { _, message in heard.record(message) } }
        let token = trigger.listen { message in
            if message < 3 { trigger.post(message + 1) } else { other.post(message + 1) }
        }
        let task = Task {
            await actor.run {
                trigger.post(1, isolation: $0)
                other.post(5, isolation: $0)
            }
        }
        await executor.run { heard.count == 5 }
        #expect(heard.all == [1, 2, 3, 4, 5])
        await task.value
        withExtendedLifetime(token) {}
    }
}
