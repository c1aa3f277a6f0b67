import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Rules 7 and 14 for states: what each thread sets is heard in its order, once; a value that waits behind others takes
/// its place among what is posted when its turn comes.
struct StateOrderTests {
    struct Note: Hashable {
        let thread: Int
        let number: Int
        let isState: Bool
    }

    /// Each of four threads sets a state and posts on a channel in turn.
    private func setAndPost(_ count: Int, on state: StateChannel<Note>, _ channel: Channel<Note>) async {
        await onThreads(4) { thread in
            for number in 0..<count {
                state.set(Note(thread: thread, number: number, isState: true))
                channel.post(Note(thread: thread, number: number, isState: false))
            }
        }
    }

    private func checkOrderOfEach(_ count: Int, _ heard: [Note]) {
        for thread in 0..<4 {
            for isState in [true, false] {
                let expected = (0..<count).map { Note(thread: thread, number: $0, isState: isState) }
                #expect(heard.filter { $0.thread == thread && $0.isState == isState } == expected)
            }
        }
    }

    @Test(arguments: [true, false])
    func valuesOfManyThreadsAreHeardOnceInTheOrderOfEach(onQueue: Bool) async {
        let state = StateChannel(Note(thread: -1, number: 0, isState: true))
        let channel = Channel<Note>()
        let heard = Recorder<Note>()
        let queue = DispatchQueue(label: "listeners")
        let clerk = Clerk()
        let plain = Tally()
        var tokens = [state.listen { _ in plain.add() }]
        for source in [state, channel] as [any Listenable<Note>] {
            tokens.append(
                onQueue
                    ? source.listen(on: queue) { heard.record($0) }
                    : source.listen(clerk) { (_: isolated Clerk, note) in heard.record(note) }
            )
        }
        let count = 400
        await setAndPost(count, on: state, channel)
        checkOrderOfEach(count, await heard.wait(count: 4 * 2 * count + 1))
        await plain.wait(until: 4 * count + 1)
        #expect(plain.value == 4 * count + 1)
        withExtendedLifetime((tokens, clerk)) {}
    }

    /// The others of its lane have heard the value.
    @Test func onlyTheListenerThatIsNewOrResumesHearsTheCurrentValue() {
        let queue = DispatchQueue(label: "first values")
        let state = StateChannel(7)
        let heard = Recorder<String>()
        func settle() { for _ in 0..<3 { queue.sync {} } }
        let first = state.listen(on: queue) { heard.record("first \($0)") }
        let second = state.listen(on: queue) { heard.record("second \($0)") }
        settle()
        first.pause()
        first.resume()
        settle()
        let third = state.listen(on: queue, priority: .high) { heard.record("third \($0)") }
        settle()
        #expect(heard.all == ["first 7", "second 7", "first 7", "third 7"])
        withExtendedLifetime((first, second, third)) {}
    }

    @Test func everyListenerOfAStateHearsTheSameOrderWhereverItRuns() async {
        let state = StateChannel(0)
        let queue = DispatchQueue(label: "listener")
        let onQueue = Recorder<Int>()
        let called = Recorder<Int>()
        let awaited = Recorder<Int>()
        let tokens = [
            state.listen(on: queue) { onQueue.record($0) },
            state.listen { called.record($0) },
            state.listen { (value: Int) async in awaited.record(value) },
        ]
        await onThreads(4) { thread in for number in 0..<500 { state.set(thread * 1_000 + number) } }
        _ = await onQueue.wait(count: 2_001)
        _ = await called.wait(count: 2_001)
        _ = await awaited.wait(count: 2_001)
        #expect(onQueue.all == called.all)
        #expect(onQueue.all == awaited.all)
        #expect(onQueue.all.last == state.value)
        withExtendedLifetime(tokens) {}
    }

    @MainActor @Test func aChainOfMainActorValuesIsHeardBeforeSetReturns() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.listen { @MainActor value in
            heard.record(value)
            if value > 0, value < 5 { state.set(value + 1) }
        }
        let plain = Recorder<Int>()
        let other = state.listen(priority: .low) { plain.record($0) }
        state.set(1)
        #expect(heard.all == [0, 1, 2, 3, 4, 5])
        #expect(plain.all == [0, 1, 2, 3, 4, 5])
        withExtendedLifetime((token, other)) {}
    }

    /// The value takes its turn behind what waits, and what comes later behind it.
    @MainActor @Test func aValueSetOnTheMainActorNeverOvertakesThoseThatWait() async {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.listen { @MainActor value in heard.record(value) }
        for round in 0..<20 {
            let first = round * 10
            onAnotherThread { state.set(first + 1) }
            state.set(first + 2)
            onAnotherThread { state.set(first + 3) }
            #expect(heard.count == 1 + round * 3)
            _ = await heard.wait(count: 4 + round * 3)
            #expect(heard.all.suffix(3) == [first + 1, first + 2, first + 3])
        }
        withExtendedLifetime(token) {}
    }

    @MainActor @Test func aListenerPausedBeforeItsTurnMissesTheValueAndCountsIt() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let slot = Slot<ListenerToken>()
        let first = state.listen(priority: .high) { if $0 == 1 { slot.value?.pause() } }
        let token = state.listen { @MainActor value in heard.record(value) }
        slot.value = token
        state.set(1)
        #expect(heard.all == [0])
        #expect(token.missedCount == 1)
        token.resume()
        #expect(token.deliveredCount + token.waitingCount == 2)
        withExtendedLifetime(first) {}
    }

    @MainActor @Test func aListenerThatResumesInsideAListenerHearsTheValueStoredOnce() async {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let slot = Slot<ListenerToken>()
        let first = state.listen(priority: .high) { @MainActor value in
            guard value == 1 else { return }
            state.set(2)
            state.set(3)
            slot.value?.pause()
            slot.value?.resume()
        }
        let token = state.listen { @MainActor value in heard.record(value) }
        slot.value = token
        state.set(1)
        state.set(4)
        #expect(await heard.wait { $0.last == 4 } == [0, 3, 4])
        withExtendedLifetime(first) {}
    }

    // MARK: Beside channels

    @MainActor @Test(arguments: [true, false])
    func theTurnOfAListenerThatEndsDoesNotDelayLaterPosts(byCancelling: Bool) {
        let state = StateChannel(0)
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let ending = Slot<ListenerToken>()
        let owner = Slot<Owner>()
        owner.value = Owner()
        let first = state.listen { @MainActor value in
            guard value == 1 else { return }
            state.set(2)
            if byCancelling { ending.value?.cancel() } else { owner.value = nil }
        }
        if let owner = owner.value { ending.value = state.listen(owner) { @MainActor _, _ in } }
        let token = channel.listen { @MainActor value in heard.record(value) }
        state.set(1)
        state.set(3)
        channel.post(4)
        #expect(heard.all == [4])
        withExtendedLifetime((first, token)) {}
    }

    // MARK: Patterns

    @Test(arguments: [true, false])
    func aPatternHearsWhatEachThreadSetsOnceAndInItsOrder(onQueue: Bool) async throws {
        let board = Switchboard()
        let state = board.state("shop.state", initial: Note(thread: -1, number: 0, isState: true))
        let channel = try board.channel("shop.channel", of: Note.self)
        let heard = Recorder<Note>()
        let plain = Tally()
        let queue = DispatchQueue(label: "listener")
        let clerk = Clerk()
        let pattern = board[matching: "shop.*"]
        let tokens = [
            onQueue
                ? pattern.listen(on: queue) { post in if let note = post.message as? Note { heard.record(note) } }
                : pattern.listen(clerk) { (_: isolated Clerk, post) in
                    if let note = post.message as? Note { heard.record(note) }
                },
            state.listen { _ in plain.add() },
            pattern.listen { _ in plain.add() },
        ]
        let count = 400
        await setAndPost(count, on: state, channel)
        checkOrderOfEach(count, await heard.wait(count: 4 * 2 * count))
        await plain.wait(until: 1 + 4 * 3 * count)
        #expect(tokens[0].deliveredCount == 4 * 2 * count)
        withExtendedLifetime((tokens, clerk)) {}
    }

    @MainActor @Test func aMainActorPatternHearsAStateSetThereBeforeSetReturns() async {
        let board = Switchboard()
        let states: [StateChannel<Int>] = [
            board.state("shop.state", initial: 0), board.state("shop.other", initial: 0),
        ]
        let heard = Recorder<Int>()
        let tokens = [
            states[0].listen { @MainActor value in
                guard value == 1 else { return }
                states[1].set(10)
                states[0].set(2)
            },
            board[matching: "shop.*"].listen { @MainActor post in
                if let value = post.message as? Int { heard.record(value) }
            },
        ]
        states[0].set(1)
        #expect(heard.all == [10, 1, 2])
        onAnotherThread {
            states[1].set(11)
            states[0].set(3)
        }
        #expect(heard.count == 3)
        states[0].set(4)
        #expect(await heard.wait(count: 6) == [10, 1, 2, 11, 3, 4])
        withExtendedLifetime(tokens) {}
    }

    @Test func aPausedPatternMissesValuesOfStatesAndCountsThem() async {
        let board = Switchboard()
        let state = board.state("shop.state", initial: 0)
        let heard = Recorder<Int>()
        let token = board[matching: "shop.*"].listen(on: DispatchQueue(label: "listener")) { post in
            if let value = post.message as? Int { heard.record(value) }
        }
        state.set(1)
        token.pause()
        state.set(2)
        token.resume()
        state.set(3)
        #expect(await heard.wait(count: 2) == [1, 3])
        #expect(token.missedCount == 1)
    }

    @Test func aValueTooManyForAPatternsBufferIsAFault() throws {
        let faults = Recorder<Fault.Code>()
        let board = Switchboard(onFault: { faults.record($0.code) })
        let state = board.state("shop.state", initial: 0)
        let queue = DispatchQueue.suspended()
        let token = board[matching: "shop.*"].listen(on: queue, buffering: .oldest(1)) { _ in }
        state.set(1)
        state.set(2)
        #expect(token.droppedCount == 1)
        #expect(faults.all == [.bufferOverflow])
        token.cancel()
        queue.resume()
    }
}
