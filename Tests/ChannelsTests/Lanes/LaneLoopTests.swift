import ChannelsTesting
import Dispatch
import Synchronization
import Testing

@testable import Channels

/// Rule 9 for listeners that hear through lanes: an endless loop ends with the fault, whatever its shape.
@Suite(.timeLimit(.minutes(5)))
struct LaneLoopTests {
    enum Place: String, CaseIterable, Codable { case queue, concurrentQueue, actor, mainActor }

    /// How many messages may wait of those to which many calls have led: 131,072 in a lane, and each is one of two.
    private static let mostCalls = 2_000_000

    private static func listen(_ place: Place, to channel: Channel<Int>, _ clerk: Clerk, _ body: @escaping Body)
        -> Tokens
    {
        switch place {
        case .queue:
            let queue = DispatchQueue(label: "loop")
            return (0..<2).map { _ in channel.listen(on: queue) { body($0) } }
        case .concurrentQueue:
            return (0..<2).map { _ in channel.listen(on: .global()) { body($0) } }
        case .actor:
            return (0..<2).map { _ in channel.listen(clerk) { _, number in body(number) } }
        case .mainActor:
            return (0..<2).map { _ in channel.listen { @MainActor number in body(number) } }
        }
    }

    private typealias Body = @Sendable (Int) -> Void
    private typealias Tokens = [ListenerToken]

    /// Each in a process of its own: the main actor is shared with other tests.
    @Test(arguments: [(Place.queue, true)] + Place.allCases.map { ($0, false) })
    func listenersThatEachPostAgainEndWithAFault(place: Place, withSender: Bool) async {
        await #expect(processExitsWith: .success) { [place, withSender] in
            endIfItHangs()
            let faults = Recorder<Fault>()
            let channel = Channel<Int> { faults.record($0) }
            let (sender, clerk) = (Owner(), Clerk())
            let calls = Tally()
            let tokens = LaneLoopTests.listen(place, to: channel, clerk) { number in
                calls.add()
                guard calls.value < LaneLoopTests.mostCalls else { return }
                if withSender { channel.post(number + 1, from: sender) } else { channel.post(number + 1) }
            }
            await onThreads(1) { _ in channel.post(0) }
            await faults.wait(count: 1)
            await untilNothingWaits(for: tokens)
            precondition(faults.all.allSatisfy { $0.detail == "too many posts follow from one" })
            precondition(faults.all.allSatisfy { $0.code == .recursionLimit })
            precondition(calls.value < LaneLoopTests.mostCalls, "\(calls.value) calls")
        }
    }

    @Test func listenersOfAStateThatEachSetItAgainEndWithAFault() async {
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let queue = DispatchQueue(label: "loop")
        let (calls, last) = (Tally(), Tally())
        let tokens = (0..<2).map { _ in
            state.listen(on: queue) { value in
                last.set(value)
                calls.add()
                if value > 0, calls.value < Self.mostCalls { state.update { $0 += 1 } }
            }
        }
        await onThreads(1) { _ in state.set(1) }
        await faults.wait(count: 1)
        await untilNothingWaits(for: tokens)
        #expect(faults.all.contains { $0.code == .recursionLimit } && calls.value < Self.mostCalls)
        // What is refused changes nothing.
        #expect(state.value == last.value)
    }

    @Test func aLoopThatFollowsAnotherIsAFaultAgain() async {
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let queue = DispatchQueue(label: "loop")
        let tokens = (0..<2).map { _ in channel.listen(on: queue) { channel.post($0 + 1) } }
        for _ in 1...3 {
            let before = faults.all.count { $0.count == 1 }
            channel.post(0)
            await untilNothingWaits(for: tokens)
            #expect(faults.all.count { $0.count == 1 } > before)
        }
    }

    /// They set each other, and no more than one value waits at a time.
    @Test func statesThatSetEachOtherForLongAreServed() async {
        let faults = Tally()
        let (there, back) = (StateChannel(0) { _ in faults.add() }, StateChannel(0) { _ in faults.add() })
        let (left, right) = (DispatchQueue(label: "left"), DispatchQueue(label: "right"))
        let gate = Gate()
        let tokens = [
            there.listen(on: left) { number in if number > 0 { back.set(number + 1) } },
            back.listen(on: right) { number in
                guard number > 0 else { return }
                if number > 20_000 || faults.value > 0 { gate.open() } else { there.set(number + 1) }
            },
        ]
        there.set(1)
        await gate.wait()
        #expect(faults.value == 0)
        withExtendedLifetime(tokens) {}
    }

    /// What a call far down a chain posts is refused by a lane that has no room, though its own has.
    @Test(arguments: [1, 3])
    func aPostToALaneWithoutRoomIsRefusedAndAFault(listeners: Int) async throws {
        let faults = Recorder<Fault>()
        let (causes, effects) = (Channel<Int>(), Channel<Int> { faults.record($0) })
        let full = DispatchQueue.suspended()
        let heard = Tally()
        let tokens = (0..<listeners).map { _ in effects.listen(on: full) { _ in heard.add() } }
        // Something waits, so that the lane does not recover.
        effects.post(0)
        let lane = try #require(tokens[0].entry.mailbox?.lane)
        lane.lock.withLock { lane.state.exhaust() }
        let (reached, queue) = (Recorder<Int>(), DispatchQueue(label: "causes"))
        let token = causes.listen(on: queue) { number in
            if number > 0 { causes.post(number - 1) } else { reached.record(effects.post(1)) }
        }
        causes.post(3)
        #expect(await reached.wait(count: 1) == [0])
        #expect(faults.count > 0 && faults.all.allSatisfy { $0.code == .recursionLimit })
        full.resume()
        await heard.wait(until: listeners)
        await token.cancelAndDrain()
        for token in tokens { await token.cancelAndDrain() }
        #expect(heard.value == listeners)
    }

    /// They wait for one another, and no more than one waits at a time.
    @Test func listenersThatPostToEachOtherForLongAreServed() async {
        let (there, back) = (Channel<Int> { _ in }, Channel<Int> { _ in })
        let (left, right) = (DispatchQueue(label: "left"), DispatchQueue(label: "right"))
        let gate = Gate()
        let faults = Tally()
        let tokens = [
            there.listen(on: left) { number in if back.post(number + 1) == 0 { faults.add() } },
            back.listen(on: right) { number in
                if number > 300_000 { gate.open() } else if there.post(number + 1) == 0 { faults.add() }
            },
        ]
        there.post(0)
        await gate.wait()
        #expect(faults.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: [false, true])
    func aListenerThatPostsHundredsOfThousandsOfMessagesBecauseOfOneIsServed(deep: Bool) async {
        let faults = Tally()
        let (causes, effects) = (Channel<Int> { _ in faults.add() }, Channel<Int> { _ in faults.add() })
        let queue = DispatchQueue(label: "effects")
        let heard = Tally()
        let tokens = [
            causes.listen(on: queue) { count in
                // After some calls that led to it, too.
                if deep, count > 0 {
                    _ = causes.post(count - 1)
                    return
                }
                for number in 0..<(deep ? 100_000 : 300_000) { effects.post(number) }
            },
            effects.listen(on: queue) { _ in heard.add() },
        ]
        causes.post(deep ? 20 : 0)
        await heard.wait(until: deep ? 100_000 : 300_000)
        #expect(faults.value == 0)
        withExtendedLifetime(tokens) {}
    }

    /// They take no room that has no bound, or hear whatever happens to lanes.
    @Test(arguments: [false, true])
    func sequencesAndBoundedBuffersHearWhatIsPostedWhereALaneHasNoRoom(withSender: Bool) async {
        let faults = Recorder<Fault>()
        let loop = Channel<Int> { faults.record($0) }
        let (heard, conflated) = (Channel<Int> { faults.record($0) }, Channel<Int> { faults.record($0) })
        let queue = DispatchQueue(label: "loop")
        let messages = heard.messages()
        let bounded = conflated.listen(on: .global(), buffering: .newest(4)) { _ in }
        let sender = Owner()
        let (calls, missed) = (Tally(), Tally())
        let tokens = (0..<2).map { _ in
            loop.listen(on: queue) { number in
                calls.add()
                guard calls.value < Self.mostCalls else { return }
                loop.post(number + 1)
                let from = withSender ? sender : nil
                if heard.post(number, from: from) == 0 || conflated.post(number, from: from) == 0 { missed.add() }
            }
        }
        loop.post(0)
        await faults.wait(count: 1)
        await untilNothingWaits(for: tokens)
        #expect(missed.value == 0 && faults.all.allSatisfy { $0.code == .recursionLimit })
        withExtendedLifetime((messages, bounded)) {}
    }

    /// Others have no part in the loop.
    @Test func whatOthersPostMeanwhileIsHeard() async {
        let loop = Channel<Int> { _ in }
        let other = Channel<Int> { _ in }
        let queue = DispatchQueue(label: "loop")
        let (calls, heard) = (Tally(), Tally())
        let tokens = (0..<2).map { _ in
            loop.listen(on: queue) { number in
                calls.add()
                loop.post(number + 1)
            }
        }
        let answer = other.listen(on: queue) { number in if number < 100 { heard.add() } }
        let relay = other.listen(on: queue) { number in if number < 100 { other.post(number + 100) } }
        loop.post(0)
        calls.spin(until: 200_000)
        for number in 0..<100 { other.post(number) }
        await untilNothingWaits(for: tokens + [answer, relay])
        #expect(heard.value == 100 && relay.deliveredCount == 200)
    }
}

/// Returns when all that waits has been heard, and none of the listeners is being called.
private func untilNothingWaits(for tokens: [ListenerToken]) async {
    while true {
        // Otherwise one may be called, and post to another, between the looks at the two.
        let before = tokens.map(\.deliveredCount)
        let areIdle = tokens.allSatisfy { $0.entry.mailbox?.isBusy.load(ordering: .acquiring) == false }
        if areIdle, tokens.map(\.deliveredCount) == before { return }
        await Task.yield()
    }
}
