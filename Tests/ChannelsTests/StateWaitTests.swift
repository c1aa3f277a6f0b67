import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

struct StateWaitTests {
    private let state = StateChannel(0)

    @Test func setAndWaitReturnsWhenEveryListenerHasFinished() async {
        let ended = Recorder<Int>()
        let tokens = [
            state.listen { ended.record($0) },
            state.listen(on: DispatchQueue(label: "state")) { ended.record($0) },
            state.listen { (value: Int) async in
                await Task.yield()
                ended.record(value)
            },
        ]
        await ended.wait(count: 3)
        let report = await state.setAndWait(1)
        #expect(ended.all.count { $0 == 1 } == 3)
        #expect(report.reachedCount == 3 && report.completedCount == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test func updateAndWaitChangesTheValueInPlace() async {
        let heard = Recorder<Int>()
        let token = state.listen { (value: Int) async in heard.record(value) }
        let report = await state.updateAndWait { $0 += 5 }
        #expect(state.value == 5 && heard.all.last == 5)
        #expect(report.completedCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test func updateAndWaitThrowsWhatItsBodyThrows() async {
        struct Refusal: Error {}
        await #expect(throws: Refusal.self) {
            try await state.updateAndWait { value throws(Refusal) in
                value = 7
                throw Refusal()
            }
        }
        #expect(state.value == 0)
    }

    @Test func aValueThatWaitsForItsTurnIsWaitedFor() async {
        let (entered, release) = (Tally(), DispatchSemaphore(value: 0))
        let heard = Recorder<Int>()
        let token = state.listen { value in
            if value == 1 {
                entered.add()
                release.wait()
            }
            heard.record(value)
        }
        async let first: Void = onThreads(1) { _ in state.set(1) }
        await entered.wait(until: 1)
        async let report = state.setAndWait(2)
        await wait(for: state.value) { $0 == 2 }
        #expect(heard.all == [0])
        release.signal()
        #expect(await report.completedCount == 1)
        #expect(heard.all == [0, 1, 2])
        await first
        withExtendedLifetime(token) {}
    }

    @Test func manyThatSetAndWaitAllReturn() async {
        let heard = Tally()
        let tokens = [
            state.listen { _ in heard.add() },
            state.listen { (_: Int) async in heard.add() },
        ]
        await heard.wait(until: 2)
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var completed = 0
                    for number in 0..<200 { completed += await state.setAndWait(task * 200 + number).completedCount }
                    return completed
                }
            }
            #expect(await group.reduce(0, +) == 3_200)
        }
        #expect(heard.value == 3_202)
        withExtendedLifetime(tokens) {}
    }

    @Test func setAndWaitInsideAnAsyncListenerDoesNotWaitForIt() async {
        let ended = Tally()
        let token = state.listen { (value: Int) async in
            if value == 1 { await state.setAndWait(2) }
            ended.add()
        }
        state.set(1)
        await ended.wait(until: 3)
        withExtendedLifetime(token) {}
    }

    @Test func whereNobodyListensSetAndWaitReturnsAtOnce() async {
        #expect(await state.setAndWait(3).reachedCount == 0)
        #expect(state.value == 3)
    }

    @Test func changesBeginWithTheNextValue() async {
        let heard = Recorder(of: state.updates)
        var read = state.updates.messages().makeAsyncIterator()
        state.set(1)
        state.set(2)
        #expect(heard.all == [1, 2])
        #expect(await read.next() == 2)
        let large = Recorder(of: state.updates.filter { $0 > 3 })
        for value in 3...5 { state.set(value) }
        #expect(large.all == [4, 5])
    }
}

struct TimedNextTests {
    private let channel = Channel<Int>()

    @Test func nextWithATimeoutReturnsTheMessageThatSatisfiesIt() async throws {
        async let next = channel.first(timeout: .patience) { $0 > 2 }
        await wait(for: channel.listenerCount) { $0 == 1 }
        for number in 1...4 { channel.post(number) }
        #expect(try await next == 3)
        #expect(channel.isEmpty)
    }

    @Test func nextThrowsWhenItsTimeIsOver() async {
        for timeout in [Duration.milliseconds(20), .zero, .seconds(-1)] {
            let error = await #expect(throws: ChannelError.self) { try await channel.first(timeout: timeout) }
            #expect(error?.code == .timedOut)
            #expect(error.map { "\($0)".contains("\(timeout)") } == true)
        }
        #expect(channel.isEmpty)
    }

    /// Here its task is busy until the time is over.
    @Test func nextReturnsWhatArrivedInTimeThoughItIsReadLate() async throws {
        for exponent in 0..<20 {
            let state = StateChannel(1)
            var hasArrived = false
            let next = try? await state.first(timeout: .milliseconds(1 << exponent)) { value in
                guard value == 1 else { return true }
                state.set(2)
                hasArrived = !state.isEmpty
                while !state.isEmpty {}
                return false
            }
            // Otherwise the time was over before the first value was read.
            guard hasArrived else { continue }
            #expect(next == 2)
            return
        }
        Issue.record("no value arrived in time")
    }

    @Test func nextWithATimeoutEndsWithItsTaskAndItsChannel() async throws {
        let waiting = Task { [channel] in try await channel.first(timeout: .patience) }
        await wait(for: channel.listenerCount) { $0 == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        async let ended = channel.first(timeout: .patience)
        await wait(for: channel.listenerCount) { $0 == 1 }
        channel.finish()
        #expect(try await ended == nil)
    }

    @Test func aStatesCurrentValueIsTestedFirst() async throws {
        #expect(try await StateChannel(4).first(timeout: .patience) { $0 > 3 } == 4)
    }
}

struct SwitchboardPostsTests {
    private let board = Switchboard()

    @Test func everythingPostedOnABoardIsHeard() {
        let state = board.state("shop.state", initial: "open")
        let heard = Recorder<String>()
        let token = board.posts.listen { heard.record("\($0.channelName ?? "none") \($0.message)") }
        board["shop.sold" as ChannelName<Int>].post(1)
        board[Int.self].post(2)
        state.set("closed")
        let kept = board[Double.self].listen { _ in }
        board[Double.self].post(0.5)
        #expect(heard.all == ["shop.sold 1", "none 2", "shop.state closed", "none 0.5"])
        token.cancel()
        #expect(board[Int.self].post(3) == 0)
        withExtendedLifetime(kept) {}
    }

    @Test func theSenderOfAPostIsHeardOnABoard() {
        let owner = Owner()
        let heard = Recorder<Bool>()
        let token = board.posts.listen { heard.record($0.sender === owner) }
        board[Int.self].post(1, from: owner)
        #expect(heard.all == [true])
        withExtendedLifetime(token) {}
    }

    @Test func aBoardWithoutListenersToItsPostsKeepsNothing() {
        let token = board.posts.listen { _ in }
        for number in 0..<100 { board[Int.self].post(number) }
        token.cancel()
        #expect(board.snapshot().channels.isEmpty && board.snapshot().patterns.isEmpty)
    }
}

struct FaultOwnerTests {
    @Test func aFaultNamesTheTypeOfTheOwner() {
        struct Refusal: Error {}
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(onFault: { faults.record($0) })
        let owner = Owner()
        channel.listen(owner) { (_: Owner, _: Int) throws in throw Refusal() }
        let token = channel.listen { (_: Int) throws in throw Refusal() }
        channel.post(1)
        #expect(faults.all.map(\.ownerType) == ["Owner", nil])
        #expect(faults.all[0].description.contains("listener of Owner registered at"))
        #expect(Fault(code: .listenerThrew, channelName: "a", ownerType: "Kitchen").ownerType == "Kitchen")
        withExtendedLifetime(token) {}
    }
}
