import Channels
import ChannelsTesting
import Foundation
import Testing

/// Rule 17: whatever load others make, every call returns, and nothing grows without end. What fills the pool of
/// threads has a process of its own.
struct LivenessTests {
    @Test(arguments: [2, 8])
    func everyThreadThatSetsOneStateEndlesslyGoesOn(writers: Int) async {
        let state = StateChannel(0) { _ in }
        let heard = Tally()
        let token = state.listen { (_: Int) in heard.add() }
        let made = (0..<writers).map { _ in Tally() }
        let late = Tally()
        await onThreads(writers + 1) { index in
            if index < writers {
                while made.contains(where: { $0.value < 5_000 }) || late.value == 0 {
                    state.update { $0 += 1 }
                    made[index].add()
                }
            } else {
                made[0].spin(until: 1_000)
                state.listen(once: true) { (_: Int) in }.cancel()
                _ = state.messages()
                late.add()
            }
        }
        // A job may still deliver the last ones.
        await heard.wait(until: state.value + 1)
        #expect(heard.value == state.value + 1)
        withExtendedLifetime(token) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// A task that an async listener has left behind is not inside the listener any more.
    @Test(arguments: [false, true])
    func theValuesThatWaitStayFewWhenAListenerIsSlow(setterIsLeftBehind: Bool) async {
        await #expect(processExitsWith: .success) { [setterIsLeftBehind] in
            endIfItHangs()
            let faults = Recorder<Fault>()
            let state = StateChannel(0) { faults.record($0) }
            let heard = Tally()
            let gate = DispatchSemaphore(value: 0)
            let token = state.listen { (value: Int) in
                heard.add()
                if value == 1 { gate.wait() }
            }
            @Sendable func setMany() {
                for value in 2...1_030 { state.set(value) }
                gate.signal()
            }
            let (channel, hasEnded, isOver) = (Channel<Int>(), Gate(), Gate())
            let leaving = channel.listen { (_: Int) async in
                Task {
                    await hasEnded.wait()
                    setMany()
                    isOver.open()
                }
            }
            if setterIsLeftBehind { await channel.postAndWait(0) }
            await onThreads(2) { index in
                if index == 0 {
                    state.set(1)
                } else {
                    heard.spin(until: 2)
                    if setterIsLeftBehind { hasEnded.open() } else { setMany() }
                }
            }
            if setterIsLeftBehind { await isOver.wait() }
            #expect(faults.all.first?.code == .stateBacklog && faults.all.first?.channelKind == .state, "\(faults.all)")
            await heard.wait(until: 1_031)
            withExtendedLifetime((token, leaving)) {}
        }
    }
    #endif

    @Test func aUsersLockAroundSetAndInTheListenerDoesNotDeadlock() async {
        let lock = NSRecursiveLock()
        let state = StateChannel(0) { _ in }
        let token = state.listen { (_: Int) in lock.withLock {} }
        await onThreads(2) { index in
            for _ in 0..<200 {
                if index == 0 { lock.lock() }
                state.update { $0 += 1 }
                if index == 0 { lock.unlock() }
            }
        }
        #expect(state.value == 400)
        withExtendedLifetime(token) {}
    }

    @Test func statesThatSetEachOtherFromTwoThreadsDoNotDeadlock() async {
        let (left, right) = (StateChannel(0) { _ in }, StateChannel(0) { _ in })
        let tokens = [
            left.listen { (value: Int) in if value % 2 == 1 { right.set(value + 1) } },
            right.listen { (value: Int) in if value % 2 == 1 { left.set(value + 1) } },
        ]
        await onThreads(2) { index in
            for value in 0..<5_000 { (index == 0 ? left : right).set(2 * value + 1) }
        }
        withExtendedLifetime(tokens) {}
    }

    /// Setters inside listeners do not wait, and so cannot relieve the thread that delivers; a job does.
    @Test func aSetReturnsThoughOthersSetEndlesslyInsideListeners() async {
        let (state, causes) = (StateChannel(0) { _ in }, Channel<Int>())
        let hasReturned = Tally()
        let tokens = [state.listen { (_: Int) in }, causes.listen { number in state.set(number) }]
        await onThreads(2) { index in
            if index == 0 {
                for _ in 0..<20 { state.update { $0 += 1 } }
                hasReturned.add()
            } else {
                for number in 0..<1_000_000 where hasReturned.value == 0 { causes.post(number) }
            }
        }
        #expect(hasReturned.value == 1)
        withExtendedLifetime(tokens) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func mailboxesThatAreFedEndlesslyLeaveThreadsToOtherTasks() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let isOver = Tally()
            let clerks = (0..<4).map { _ in Clerk() }
            for clerk in clerks {
                channel.listen(clerk) { me, number in
                    me.note(number)
                    if isOver.value == 0, number < 10_000_000 { channel.post(number + 1) }
                }
            }
            let tokens = (0..<4).map { _ in
                channel.listen { (number: Int) async in if isOver.value == 0 { channel.post(number + 1) } }
            }
            channel.post(0)
            for _ in 0..<20 { await Task.detached {}.value }
            isOver.add()
            withExtendedLifetime((clerks, tokens)) {}
        }
    }

    @Test func aReaderThatAlwaysFindsAMessageLeavesItsActorToOthers() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let (channel, reader) = (Channel<Int>(), Reader())
            let messages = channel.messages()
            channel.post(1)
            let reading = Task { await reader.read(messages, from: channel) }
            await reader.begun.wait()
            #expect(await reader.end())
            await reading.value
        }
    }

    @Test func aTaskThatAlwaysFindsAValueLeavesItsActorToOthers() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let (state, reader) = (StateChannel(1), Reader())
            let reading = Task { await reader.read(state) }
            await reader.begun.wait()
            #expect(await reader.end())
            await reading.value
        }
    }

    /// Others may register listeners of that owner faster than they can be removed.
    @Test func listenersThatComeWhileThoseOfAnOwnerAreRemovedStay() async {
        await #expect(processExitsWith: .success) {
            let owner = Owner()
            let removals = Slot<@Sendable () -> Void>()
            let channel = Channel<Int>(name: nil) { removals.value?() }
            for _ in 0..<4 { channel.listen(owner) { _, _ in } }
            let (registered, arrived) = (Tally(), Tally())
            removals.value = {
                precondition(registered.add() < 1_000, "what is registered meanwhile is removed, too")
                // Only for what is removed, not for what is registered here.
                let listen = removals.value
                removals.value = nil
                defer { removals.value = listen }
                channel.listen(owner) { _, _ in arrived.add() }
            }
            channel.removeListeners(of: owner)
            removals.value = nil
            #expect(channel.listenerCount == 4, "\(channel.listenerCount)")
            #expect(channel.post(1) == 4 && arrived.value == 4)
            withExtendedLifetime(owner) {}
        }
    }

    /// The threads of the pool are everybody's: the calls of an actor have one for some microseconds at a time.
    @Test func aTaskWaitsForSomeCallsOfBusyActorsNotForAll() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let count = 2 * ProcessInfo.processInfo.activeProcessorCount
            var least = Int.max
            for _ in 0..<4 {
                let channel = Channel<Int>()
                let calls = Tally()
                let clerks = (0..<count).map { _ in Clerk() }
                for clerk in clerks {
                    channel.listen(clerk) { (_: isolated Clerk, _) in
                        let start = ContinuousClock.now
                        while ContinuousClock.now - start < .microseconds(2) {}
                        calls.add()
                    }
                }
                for message in 0..<2_000 { channel.post(message) }
                let before = calls.value
                let later = await Task { calls.value }.value
                least = min(least, later - before)
                await calls.wait(until: 2_000 * count)
                withExtendedLifetime(clerks) {}
            }
            #expect(least < 160 * count, "\(least) calls")
        }
    }
    #endif
}

/// An actor that reads until it is told to end, or has read more than anybody need wait for.
private actor Reader {
    private static let most = 2_000_000
    let begun = Gate()
    private var count = 0
    private var isOver = false

    /// Whether it may go on.
    private func counts() -> Bool {
        begun.open()
        count += 1
        return !isOver && count < Self.most
    }

    /// Each message read is followed by another.
    func read(_ messages: MessageSequence<Int>, from channel: Channel<Int>) async {
        for await number in messages {
            guard counts() else { return }
            channel.post(number + 1)
        }
    }

    /// Each value is read by a sequence of its own.
    func read(_ state: StateChannel<Int>) async { while await state.first() != nil, counts() {} }

    /// Ends what is read. Whether that was in time.
    func end() -> Bool {
        isOver = true
        return count < Self.most
    }
}
