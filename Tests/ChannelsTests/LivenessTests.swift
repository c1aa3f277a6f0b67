import Channels
import ChannelsTesting
import Foundation
import Testing

/// Rule 17, and the bounds of rule 9: whatever load others make, every call returns, and nothing grows without end.
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
        #expect(heard.value == state.value + 1)
        withExtendedLifetime(token) {}
    }

    /// A task that an async listener has left behind is not inside the listener any more.
    @Test(arguments: [false, true])
    func theValuesThatWaitStayFewWhenAListenerIsSlow(setterIsLeftBehind: Bool) async {
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
        #expect(faults.all.first?.code == .stateBacklog)
        #expect(faults.all.first?.channelKind == .state)
        await heard.wait(until: 1_031)
        withExtendedLifetime((token, leaving)) {}
    }

    @Test func aLockOfTheUserAroundSetAndInTheListenerDoesNotDeadlock() async {
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

    @Test(arguments: [Reentrancy.nested(limit: 64), .queued])
    func listenersThatEachPostAgainEndWithAFault(_ reentrancy: Reentrancy) async {
        let faults = Tally()
        let channel = Channel<Int>(reentrancy: reentrancy) { fault in
            if fault.code == .recursionLimit, fault.detail == "too many posts follow from one" { faults.add() }
        }
        let tokens = (0..<2).map { _ in channel.listen { number in channel.post(number + 1) } }
        await onThreads(1) { _ in channel.post(0) }
        #expect(faults.value > 0)
        withExtendedLifetime(tokens) {}
    }

    /// The 1st, 2nd, 4th, 8th … post refused: there may be many.
    @Test(arguments: [Reentrancy.nested(limit: 64), .queued])
    func thoseRefusedInALoopAreReportedMoreAndMoreSeldom(_ reentrancy: Reentrancy) async {
        let counts = Recorder<Int>()
        let channel = Channel<Int>(reentrancy: reentrancy) { fault in
            if fault.detail == "too many posts follow from one" { counts.record(fault.count) }
        }
        let tokens = (0..<2).map { _ in channel.listen { number in channel.post(number + 1) } }
        await onThreads(1) { _ in channel.post(0) }
        #expect(counts.count > 3 && counts.all == counts.all.indices.map { 1 << $0 })
        withExtendedLifetime(tokens) {}
    }

    @Test func listenersOfAStateThatEachSetItAgainEndWithAFaultAndWhatIsRefusedChangesNothing() async {
        let (faults, last) = (Tally(), Tally())
        let state = StateChannel(0) { _ in faults.add() }
        let tokens = (0..<2).map { _ in
            state.listen { (value: Int) in
                last.set(value)
                if value > 0 { state.set(value + 1) }
            }
        }
        await onThreads(1) { _ in state.set(1) }
        #expect(faults.value > 0 && state.value == last.value)
        withExtendedLifetime(tokens) {}
    }

    @Test func aListenerThatPostsHundredsOfThousandsOfMessagesBecauseOfOneIsServed() async {
        let (causes, effects) = (Channel<Int>(), Channel<Int>())
        let heard = Tally()
        let tokens = [
            causes.listen { count in for number in 0..<count { effects.post(number) } },
            effects.listen { _ in heard.add() },
        ]
        await onThreads(1) { _ in causes.post(300_000) }
        #expect(heard.value == 300_000)
        withExtendedLifetime(tokens) {}
    }

    @Test func aStateIsNotSetWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let reached = Tally()
        await Self.withSmallStack {
            let ring = (0..<1_100).map { StateChannel<Int>(-$0) { faults.record($0) } }
            let tokens = ring.indices.map { index in
                ring[index].listen { number in
                    guard number > 0 else { return }
                    reached.add()
                    ring[(index + 1) % ring.count].set(number)
                }
            }
            ring[0].set(1)
            withExtendedLifetime(tokens) {}
        }
        #expect(faults.all.map(\.code) == [.recursionLimit] && reached.value > 8)
        #expect(faults.all.first?.detail?.contains("stack") == true)
    }

    /// The one that is refused hears the next value.
    @Test func aFirstCallIsRefusedWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let heard = Recorder<Int>()
        let states = (0..<1_100).map { _ in StateChannel<Int>(0) { faults.record($0) } }
        let owner = Boat()
        @Sendable func listen(to index: Int) {
            states[index].listen(owner) { _, number in
                heard.record(index)
                if number == 0 { listen(to: index + 1) }
            }
        }
        await Self.withSmallStack { listen(to: 0) }
        #expect(faults.all.map(\.code) == [.recursionLimit] && faults.all.first?.detail?.contains("stack") == true)
        let reached = heard.all.count
        #expect(reached > 8 && heard.all == Array(0..<reached))
        states[reached].set(1)
        #expect(heard.all.last == reached)
    }

    @Test func firstCallsThatLeadToFirstCallsEndWithTheFaultAtADepthOf1024() async {
        let faults = Recorder<Fault>()
        let heard = Tally()
        await onThreads(1) { _ in
            let states = (0..<1_100).map { _ in StateChannel<Int>(0) { faults.record($0) } }
            let owner = Boat()
            @Sendable func listen(to index: Int) {
                states[index].listen(owner) { _, _ in
                    heard.add()
                    listen(to: index + 1)
                }
            }
            listen(to: 0)
        }
        #expect(faults.all.map(\.detail) == ["limit 1024"] && heard.value == 1_024)
    }

    @Test(.timeLimit(.minutes(1))) func aStateListenerThatRegistersItselfAgainEndsWithTheFault() {
        let faults = Recorder<Fault>()
        let heard = Tally()
        let state = StateChannel<Int>(0) { faults.record($0) }
        let owner = Boat()
        @Sendable func listen() {
            state.listen(owner, once: true) { _, _ in
                heard.add()
                listen()
            }
        }
        listen()
        #expect(faults.all.map(\.detail) == ["limit 1024"] && heard.value == 1_024)
    }

    /// Many are no chain.
    @Test func aFirstCallMayRegisterThousandsOfListeners() {
        let faults = Recorder<Fault>()
        let heard = Tally()
        let state = StateChannel<Int>(0) { faults.record($0) }
        let owner = Boat()
        let token = state.listen { _ in
            for _ in 0..<5_000 { state.listen(owner) { _, _ in heard.add() } }
        }
        #expect(heard.value == 5_000 && faults.all.isEmpty)
        withExtendedLifetime((token, owner)) {}
    }

    @Test func aNestedPostIsRefusedWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let reached = Tally()
        await Self.withSmallStack {
            let ring = (0..<1_100).map { _ in Channel<Int>(reentrancy: .nested(limit: 1_024)) { faults.record($0) } }
            let tokens = ring.indices.map { index in
                ring[index].listen { number in
                    reached.add()
                    ring[(index + 1) % ring.count].post(number)
                }
            }
            ring[0].post(0)
            withExtendedLifetime(tokens) {}
        }
        #expect(faults.all.map(\.code) == [.recursionLimit] && reached.value > 8)
    }

    /// Runs a body on a thread with a stack of 256 KB.
    private static func withSmallStack(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                body()
                continuation.resume()
            }
            thread.stackSize = 256 << 10
            thread.start()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func mailboxesThatAreFedEndlesslyLeaveThreadsToOtherTasks() async {
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

    @Test(.timeLimit(.minutes(1)))
    func aReaderThatAlwaysFindsAMessageLeavesItsActorToOthers() async {
        actor Reader {
            private(set) var count = 0
            private var isOver = false

            func read(_ messages: MessageSequence<Int>, from channel: Channel<Int>, _ begun: Gate) async {
                for await number in messages {
                    begun.open()
                    count += 1
                    if isOver || number == 2_000_000 { return }
                    channel.post(number + 1)
                }
            }

            func end() { isOver = true }
        }
        let channel = Channel<Int>()
        let messages = channel.messages()
        let reader = Reader()
        let begun = Gate()
        channel.post(1)
        let reading = Task { await reader.read(messages, from: channel, begun) }
        await begun.wait()
        await reader.end()
        await reading.value
        #expect(await reader.count < 2_000_000)
    }

    /// Each of them is a sequence of its own.
    @Test(.timeLimit(.minutes(1)))
    func aTaskThatAlwaysFindsTheNextValueOfAStateLeavesItsActorToOthers() async {
        actor Reader {
            private(set) var count = 0
            private var isOver = false

            func read(_ state: StateChannel<Int>, _ begun: Gate) async {
                while !isOver, count < 2_000_000, await state.next() != nil {
                    begun.open()
                    count += 1
                }
            }

            func end() { isOver = true }
        }
        let state = StateChannel(1)
        let reader = Reader()
        let begun = Gate()
        let reading = Task { await reader.read(state, begun) }
        await begun.wait()
        await reader.end()
        await reading.value
        #expect(await reader.count < 2_000_000)
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
            precondition(channel.listenerCount == 4, "\(channel.listenerCount)")
            precondition(channel.post(1) == 4 && arrived.value == 4)
            withExtendedLifetime(owner) {}
        }
    }

    @Test func anObjectThatPostsWhileItGoesIsNotKeptAsTheSender() async {
        final class Leaving: Sendable {
            let channel: Channel<Int>
            init(_ channel: Channel<Int>) { self.channel = channel }
            deinit { channel.post(1, from: self) }
        }
        let channel = Channel<Int>()
        let hasSender = Recorder<Bool>()
        let token = channel.posts.listen { post async in hasSender.record(post.sender != nil) }
        _ = Leaving(channel)
        #expect(await hasSender.first(1) == [false])
        withExtendedLifetime(token) {}
    }

    /// The threads of the pool are everybody's: the calls of an actor have one for some microseconds at a time.
    @Test func aTaskWaitsForSomeCallsOfEachBusyActorAndNotForAll() async {
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
        #expect(least < 160 * count)
    }
}

private final class Boat: Sendable {}
