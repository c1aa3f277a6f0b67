import Dispatch
import Foundation
import Testing

@testable import Channels

/// Counting within an allowance, as a tool does that must not slow the channels it looks at.
struct AllowanceTests {
    private let board = Switchboard(onFault: { _ in })
    private let number = ChannelName<Int>("count.number")
    /// So many posts of a channel are counted at least until its share is renewed.
    private let fewest = 8

    /// An allowance of next to nothing.
    private func limit(_ diagnostics: Diagnostics, beyond asked: Diagnostics = .off) -> MeteringAllowance {
        let allowance = MeteringAllowance(counting: 0, tracing: 0.000_001)
        board.diagnostics = diagnostics.limited(by: allowance, beyond: asked)
        return allowance
    }

    private func counted(_ name: String = "count.number") throws -> ChannelSnapshot {
        let snapshot = board.snapshot()
        return try #require((snapshot.channels + snapshot.watched + snapshot.patterns).first { $0.name == name })
    }

    @Test func whoPostsLittleIsCountedExactly() throws {
        let token = board[number].listen { _ in }
        let allowance = limit(.counts)
        for _ in 0..<20 {
            for message in 0..<(fewest - 1) { board[number].post(message) }
            let nobody: ChannelName<Int> = "count.nobody"
            for message in 0..<(fewest - 1) { board[nobody].post(message) }
            board.renew(allowance)
        }
        #expect(try counted("count.nobody").posts == 20 * (fewest - 1))
        let channel = try counted()
        #expect(channel.posts == 20 * (fewest - 1))
        #expect(channel.countedShare == nil)
        #expect(channel.listeners.map(\.delivered) == [20 * (fewest - 1)])
        withExtendedLifetime(token) {}
    }

    @Test func whoPostsMuchIsCountedInSlices() throws {
        let token = board[number].listen { _ in }
        let allowance = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        #expect(token.deliveredCount == fewest)
        #expect(!board.channel(number).list.isMetered)
        // The rest is extrapolated, and said to be.
        let first = try counted()
        #expect(try #require(first.posts) >= fewest)
        #expect(try #require(first.countedShare) < 1)
        #expect("\(board)".contains("≈ "))
        // It is not in the queue twice.
        for _ in 0..<3 {
            allowance.renew()
            #expect(board.channel(number).list.isMetered)
            for message in 0..<100 { board[number].post(message) }
        }
        #expect(token.deliveredCount == 4 * fewest)
        let later = try counted()
        #expect(try #require(later.posts) >= #require(first.posts))
        // The walk renews only what has something left.
        board.renew(allowance)
        #expect(!board.channel(number).list.isMetered)
    }

    @Test func whatTheProgramAskedForIsCountedExactly() throws {
        let own = Channel<Int>(diagnostics: .counts)
        board.watch(own, as: "count.own")
        board.diagnostics = .counts
        let token = board[number].listen { _ in }
        let allowance = limit(.trace(keeping: 4), beyond: board.diagnostics)
        for message in 0..<100 {
            board[number].post(message)
            own.post(message)
        }
        #expect(try counted().posts == 100)
        #expect(try counted().countedShare == nil)
        #expect(token.deliveredCount == 100)
        // The trace is what the tool asked for.
        #expect(try #require(counted().tracedShare) < 1)
        _ = limit(.counts)
        for message in 0..<100 { own.post(message) }
        #expect(try counted("count.own").posts == 200)
        #expect(try counted("count.own").countedShare == nil)
        withExtendedLifetime(allowance) {}
    }

    @Test func ofManyPostsASampleIsTraced() throws {
        let token = board[number].listen { _ in }
        let allowance = limit(.trace(keeping: 32))
        for message in 0..<100 { board[number].post(message) }
        let channel = try counted()
        #expect(channel.messages.map(\.text) == ["0"])
        #expect(try #require(channel.tracedShare) < 1)
        #expect(channel.posters.count == 1)
        // As many as without a trace are counted of those that follow.
        #expect(token.deliveredCount < 100)
        // What the first cost is far more than what is due, and is paid back first.
        allowance.renew()
        for message in 100..<200 { board[number].post(message) }
        #expect(try counted().messages.map(\.text) == ["0"])
        withExtendedLifetime(token) {}
    }

    @Test func whatNobodyHearsIsExtrapolatedAsPostsAre() throws {
        let channel = board.channel(number)
        let allowance = limit(.counts)
        for message in 0..<100 { channel.post(message) }
        // Time passes, in which others may have been posted.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(2) {}
        let shown = try counted()
        #expect(try #require(shown.posts) > fewest && shown.unheard == shown.posts)
        withExtendedLifetime(allowance) {}
    }

    @Test func theShareThatIsTracedIsOfThePostsSinceTracingBegan() throws {
        let token = board[number].listen { _ in }
        board.diagnostics = .counts
        for message in 0..<1_000 { board[number].post(message) }
        let allowance = limit(.trace(keeping: 4), beyond: .counts)
        // One is traced, and costs far more than is due.
        for message in 0..<10 { board[number].post(message) }
        #expect(try counted().posts == 1_010)
        #expect(try #require(counted().tracedShare) == 0.1)
        withExtendedLifetime((token, allowance)) {}
    }

    @Test func aTraceThatBeginsAgainIsCompleteUntilItHasCostTooMuch() throws {
        let token = board[number].listen { _ in }
        let allowance = limit(.trace(keeping: 4), beyond: .counts)
        for message in 0..<10 { board[number].post(message) }
        #expect(try counted().tracedShare != nil)
        board.diagnostics = .counts
        #expect(try counted().tracedShare == nil)
        let plenty = MeteringAllowance(counting: 1, tracing: 1)
        board.diagnostics = .trace(keeping: 4).limited(by: plenty, beyond: .counts)
        board[number].post(10)
        #expect(try counted().tracedShare == nil)
        #expect(try counted().posters.map(\.posts) == [1])
        withExtendedLifetime((token, allowance)) {}
    }

    @Test func whatIsRenewedSoonMaySpendWhatIsDueSinceTheLastTime() {
        let token = board[number].listen { _ in }
        let share = 0.001
        let allowance = MeteringAllowance(counting: share, tracing: 0)
        board.diagnostics = .counts.limited(by: allowance, beyond: .off)
        for message in 0..<3_000 { board[number].post(message) }
        let start = ContinuousClock.now
        allowance.renew()
        board.renew(allowance)
        let microseconds = (ContinuousClock.now - start) / .microseconds(1)
        let before = token.deliveredCount
        for message in 0..<3_000 { board[number].post(message) }
        let most = Int(microseconds * 1_000 * share) / MeteringAllowance.costOfCounting(listeners: 1)
        #expect(token.deliveredCount - before <= max(most, fewest))
    }

    @Test func ofRequestsASampleIsTraced() async throws {
        let requests = board.requests(RequestName<Int, Int>("count.request"))
        let token = requests.respond { $0 }
        let allowance = limit(.trace(keeping: 4), beyond: .counts)
        for number in 0..<10 { _ = try await requests.ask(number) }
        #expect(try #require(counted("count.request").tracedShare) == 0.1)
        withExtendedLifetime((token, allowance)) {}
    }

    @Test func whatWaitsAndWhatIsDroppedAndMissedStaysExact() throws {
        let queue = DispatchQueue.suspended()
        let slow = board[number].listen(on: queue, buffering: .newest(4)) { _ in }
        let paused = board[number].listen { _ in }
        paused.pause()
        let allowance = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        let listeners = try counted().listeners
        #expect(listeners.map(\.waiting) == [4, 0])
        #expect(listeners.map(\.dropped) == [96, 0])
        #expect(listeners.map(\.missed) == [0, 100])
        slow.cancel()
        queue.resume()
        withExtendedLifetime(allowance) {}
    }

    @Test func failuresAndLostOwnersStayExact() throws {
        struct Failed: Error {}
        let token = board[number].listen { _ in throw Failed() }
        do {
            let owner = Owner()
            board[number].listen(owner) { _, _ in }
            _ = limit(.counts)
            for message in 0..<100 { board[number].post(message) }
        }
        board[number].post(100)
        #expect(try counted().lostOwners == 1)
        #expect(try counted().listeners.map(\.failures) == [101])
        withExtendedLifetime(token) {}
    }

    @Test func statesRequestsProtocolsAndPatternsAreLimitedToo() async throws {
        let state = board.state(StateName<Int>("count.state"), initial: 0)
        let requests = board.requests(RequestName<Int, Int>("count.request"))
        let answers = requests.respond { $0 }
        let pattern = board[matching: "count.*"].listen { _ in }
        let tokens = [state.listen { _ in }, board[number].listen { _ in }, pattern, answers]
        let allowance = limit(.counts)
        for value in 0..<100 {
            state.set(value)
            board[number].post(value)
            _ = try await requests.ask(value)
        }
        for name in ["count.state", "count.request", "count.*", "count.number"] {
            #expect(try counted(name).countedShare != nil)
        }
        #expect(!state.core.list.isMetered)
        allowance.renew()
        #expect(state.core.list.isMetered)
        withExtendedLifetime(tokens) {}
    }

    @Test func postsToNamesWithoutAChannelAreLimitedToo() throws {
        let allowance = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        #expect(try #require(counted().countedShare) < 1)
        #expect(try #require(counted().unheard) >= fewest)
        allowance.renew()
        board.diagnostics = .off
        #expect(board.snapshot().channels.isEmpty)
        _ = limit(.counts)
        board[number].post(1)
        #expect(try counted().posts == 1)
        #expect(try counted().countedShare == nil)
    }

    @Test func ofThePostsToNamesWithoutAChannelAsManyAreCountedAfterEachRenewal() {
        let observation = Observation(.off)
        let allowance = MeteringAllowance(counting: 0, tracing: 0)
        /// How many of so many posts are counted: only of those is the name asked for.
        func counted(of posts: Int) -> Int {
            var count = 0
            for _ in 0..<posts {
                func name() -> String {
                    count += 1
                    return "count.nobody"
                }
                observation.noteUnheard(name(), Int.self)
            }
            return count
        }
        #expect(counted(of: 100) == 0)
        observation.set(.counts.limited(by: allowance, beyond: .off))
        #expect(counted(of: 100) == fewest)
        for _ in 0..<3 {
            allowance.renew()
            #expect(counted(of: 3) == 3)
            #expect(counted(of: 100) == fewest - 3)
            // It is not in the queue twice: nothing is left to renew.
            observation.renew(allowance, goesOn: false)
            #expect(counted(of: 100) == 0)
        }
        observation.set(.counts)
        #expect(counted(of: 100) == 100)
    }

    @Test func ofTheChannelsThatAreMadeAsManyAreCountedAfterEachRenewal() {
        let observation = Observation(.off)
        let allowance = MeteringAllowance(counting: 0, tracing: 0)
        func counted(of made: Int) -> Int { (0..<made).count { _ in observation.countsAnother() } }
        #expect(counted(of: 100) == 100)
        for _ in 0..<3 {
            observation.set(.counts.limited(by: allowance, beyond: .off))
            #expect(counted(of: 100) == fewest)
            observation.renew(allowance, goesOn: true)
            #expect(counted(of: 100) == fewest)
            observation.set(.counts)
            #expect(counted(of: 100) == 100)
        }
    }

    @Test func aChangedShareHoldsFromTheNextRenewalOn() {
        let allowance = MeteringAllowance(counting: 0.5, tracing: 0.25)
        #expect(allowance.due(after: 1_000_000) == (500_000, 250_000))
        allowance.set(counting: 0.001, tracing: 2)
        #expect(allowance.due(after: 1_000_000) == (1_000, 1_000_000))
        // Who has not posted for long has half a second to spend at most.
        #expect(allowance.due(after: 60_000_000_000) == (500_000, 500_000_000))
    }

    /// A post to a name that only a pattern hears makes a channel for itself.
    @Test func channelsMadeForOnePostAreCountedAFewAtATimeAndThoseThatLastFromTheNextRenewal() throws {
        let pattern = board[matching: "count.*"].listen { _ in }
        let allowance = limit(.counts)
        var heldCounts = 0
        for number in 0..<20 {
            let channel = try board.channel("count.name\(number)", of: Int.self)
            channel.post(1)
            if channel.list.isObserved { heldCounts += 1 }
        }
        #expect(heldCounts == fewest)
        #expect(try #require(counted("count.*").posts) >= fewest)
        let lasting = board.channel(number)
        #expect(!lasting.list.isObserved)
        board.renew(allowance)
        #expect(lasting.list.isObserved)
        withExtendedLifetime(pattern) {}
    }

    @Test func anotherToolGoesOnWithAnAllowanceOfItsOwn() throws {
        let token = board[number].listen { _ in }
        let first = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        let second = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        // The first is told of what it no longer limits.
        first.renew()
        #expect(!board.channel(number).list.isMetered)
        second.renew()
        for message in 0..<100 { board[number].post(message) }
        #expect(token.deliveredCount == 3 * fewest)
        let third = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        third.renew()
        #expect(board.channel(number).list.isMetered)
    }

    @Test func switchedOffNothingIsCountedAndSwitchedOnAgainFromZero() throws {
        let token = board[number].listen { _ in }
        let allowance = limit(.counts)
        for message in 0..<100 { board[number].post(message) }
        board.diagnostics = .off
        allowance.renew()
        #expect(!board.channel(number).list.isMetered)
        #expect(try counted().posts == nil)
        board.diagnostics = .counts
        for message in 0..<100 { board[number].post(message) }
        #expect(try counted().posts == 100)
        #expect(try counted().countedShare == nil)
        withExtendedLifetime(token) {}
    }

    @Test func anAllowanceThatHasEndedKeepsNothingAlive() {
        let allowance = MeteringAllowance(counting: 0, tracing: 0)
        weak var list: ListenerList?
        do {
            let channel = Channel<Int>()
            list = channel.list
            board.watch(channel, as: "count.short")
            board.diagnostics = .counts.limited(by: allowance, beyond: .off)
            for message in 0..<100 { channel.post(message) }
        }
        board.diagnostics = .off
        // It may still be among those watched.
        for _ in 0..<200 { board.watch(Channel<Int>(), as: "count.other") }
        allowance.end()
        #expect(list == nil)
    }

    @Test func postsOfManyThreadsWhileSlicesBeginAndEnd() async throws {
        let channel = board.channel(number)
        let tokens = (0..<4).map { _ in channel.listen { _ in } }
        let mailbox = channel.listen(on: DispatchQueue(label: "count.queue")) { _ in }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for message in 0..<2_000 { channel.post(message, isolation: nil) }
                }
            }
            group.addTask {
                for round in 0..<200 {
                    let allowance = MeteringAllowance(counting: 0.001, tracing: 0.001)
                    let diagnostics: Diagnostics = round % 3 == 0 ? .trace(keeping: 4) : .counts
                    board.diagnostics = diagnostics.limited(by: allowance, beyond: .off)
                    for _ in 0..<4 {
                        allowance.renew()
                        board.renew(allowance)
                        _ = board.snapshot()
                    }
                    if round % 2 == 0 { board.diagnostics = .off }
                    allowance.end()
                }
            }
        }
        await mailbox.cancelAndDrain()
        // Counting begins at zero only where it was off.
        board.diagnostics = .off
        board.diagnostics = .counts
        channel.post(1)
        #expect(try counted().posts == 1)
        withExtendedLifetime(tokens) {}
    }
}
