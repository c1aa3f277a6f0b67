import Channels
import ChannelsTesting
import Foundation
import Testing

/// `postAndWait`, `setAndWait` and `updateAndWait` with a limit of time.
struct TimedPostTests {
    private let gate = Gate()

    enum Way: CaseIterable { case channel, named, void, set, update }

    /// Posts to a listener that finishes, and to one that waits at the gate.
    private func post(_ way: Way, timeout: Duration?) async -> DeliveryReport {
        let (channel, state) = (Channel<Int>(), StateChannel(0))
        let (named, pings) = (Switchboard()[Int.self], Channel<Void>())
        func listen(to source: some Listenable) -> [ListenerToken] {
            [source.listen { _ in }, source.listen { [gate] _ in await gate.wait() }]
        }
        let tokens = listen(to: channel) + listen(to: state.updates) + listen(to: named) + listen(to: pings)
        defer { withExtendedLifetime(tokens) {} }
        return switch way {
        case .channel: await channel.postAndWait(1, timeout: timeout)
        case .named: await named.postAndWait(1, timeout: timeout)
        case .void: await pings.postAndWait(timeout: timeout)
        case .set: await state.setAndWait(1, timeout: timeout)
        case .update: await state.updateAndWait(timeout: timeout) { $0 += 1 }
        }
    }

    @Test(arguments: Way.allCases, [Duration.zero, .milliseconds(1), .seconds(-1)])
    func theReportCountsThoseThatHaveNotFinishedInTime(_ way: Way, timeout: Duration) async {
        let report = await post(way, timeout: timeout)
        #expect(report.reachedCount == 2 && report.completedCount == 1 && report.unfinishedCount == 1)
        #expect(!report.isComplete && "\(report)" == "2 reached: 1 completed, 1 unfinished")
        gate.open()
    }

    @Test(arguments: Way.allCases, [Duration.seconds(3_600), .seconds(Int64.max), nil])
    func whoHasFinishedInTimeIsWaitedFor(_ way: Way, timeout: Duration?) async {
        gate.open()
        let report = await post(way, timeout: timeout)
        #expect(report.isComplete && report.completedCount == 2 && report.unfinishedCount == 0)
    }

    @Test func aValueWhoseTurnHasNotComeHasReachedNobody() async {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.updates.listen { [gate] value in
            heard.record(value)
            // On a thread of its own: the turn lasts.
            if value == 1 { while !gate.isOpen { sched_yield() } }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await onThreads(1) { _ in state.set(1) } }
            await heard.wait(count: 1)
            let report = await state.setAndWait(2, timeout: .milliseconds(1))
            #expect(report.reachedCount == 0 && !report.isComplete)
            gate.open()
        }
        #expect(heard.all == [1, 2] && state.value == 2)
        withExtendedLifetime(token) {}
    }

    @Test func aPostNobodyHandlesIsNotComplete() async {
        let channel = Channel<Int>()
        #expect(await !channel.postAndWait(1).isComplete)
        let tokens = [channel.listen { _ in }, channel.intercept { $0.message < 0 ? .stop : .continue }]
        #expect(await channel.postAndWait(1).isComplete)
        #expect(await !channel.postAndWait(-1).isComplete)
        withExtendedLifetime(tokens) {}
    }

    @Test func answersThatAreLateAreErrors() async throws {
        let quotes = RequestChannel<Int, Int>()
        let tokens = (0..<3).map { number in
            quotes.respond { [gate] request in
                await gate.wait()
                return request + number
            }
        }
        for timeout in [Duration.milliseconds(1), .zero, .seconds(-1)] {
            let answers = await quotes.askAll(1, timeout: timeout)
            // Nobody is asked if the time is over before.
            #expect(answers.count == (timeout > .zero ? 3 : 1))
            for answer in answers {
                #expect(#expect(throws: ChannelError.self) { try answer.get() }?.code == .timedOut)
            }
        }
        gate.open()
        for timeout in [nil, Duration.seconds(3_600)] {
            #expect(try await quotes.askAll(1, timeout: timeout).map { try $0.get() } == [1, 2, 3])
        }
        withExtendedLifetime(tokens) {}
    }
}

/// Who has set a state.
struct StateSenderTests {
    @Test func listenersAreToldWhoHasSetAState() async {
        let (state, owner) = (StateChannel(0), Owner())
        let senders = Recorder<(Int, Bool)>()
        let token = state.posts.listen { [owner] post in senders.record((post.message, post.sender === owner)) }
        state.set(1, from: owner)
        state.set(2)
        state.update(from: owner) { $0 += 1 }
        await state.setAndWait(4, from: owner)
        await state.updateAndWait(from: owner) { $0 += 1 }
        #expect(senders.all.map(\.0) == [0, 1, 2, 3, 4, 5])
        #expect(senders.all.map(\.1) == [false, true, false, true, true, true])
        withExtendedLifetime(token) {}
    }

    /// Each value keeps its own while it waits for its turn.
    @Test func eachValueHasItsOwnSenderThoughThreadsSet() async {
        let state = StateChannel((sender: -1, number: 0))
        let owners = (0..<4).map { _ in Owner() }
        let wrong = Tally()
        let token = state.posts.listen { [owners] post in
            let sender = post.message.sender
            if sender >= 0, post.sender !== owners[sender] { wrong.add() }
        }
        await onThreads(4) { [owners] thread in
            for number in 0..<500 { state.set((thread, number), from: owners[thread]) }
        }
        #expect(wrong.value == 0)
        withExtendedLifetime(token) {}
    }
}
