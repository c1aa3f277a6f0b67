import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

/// Rule 9: posts made inside listeners.
struct ReentrancyTests {
    @Test func onAQueuedChannelADeinitsPostWaitsBehindThoseBefore() {
        let channel = Channel<Int>(reentrancy: .queued)
        let heard = Recorder<Int>()
        let cancelled = Slot<ListenerToken>()
        let token = channel.listen { message in
            heard.record(message)
            guard message == 1 else { return }
            channel.post(2)
            cancelled.value?.cancel()
        }
        cancelled.value = channel.listen { [last = Owner { channel.post(3) }] _ in withExtendedLifetime(last) {} }
        channel.post(1)
        #expect(heard.all == [1, 2, 3])
        withExtendedLifetime(token) {}
    }

    @Test func aNestedPostRunsAtOnceDepthFirst() {
        let channel = Channel<String>()
        let heard = Recorder<String>()
        let tokens = (1...2).map { index in
            channel.listen { message in
                heard.record("\(message)\(index)")
                if message == "i" { #expect(channel.post("s") == 2) }
            }
        }
        channel.post("i")
        #expect(heard.all == ["i1", "s1", "s2", "i2", "s1", "s2"])
        withExtendedLifetime(tokens) {}
    }

    /// Every form of listener must be named by the fault.
    @Test(arguments: [false, true])
    func pastTheNestedLimitPostReturnsZeroAndAFaultNamesIt(hasOwner: Bool) {
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(reentrancy: .nested(limit: 5)) { faults.record($0) }
        let results = Recorder<Int>()
        let owner = Owner()
        let site = CallSite(fileID: #fileID, line: #line + 2)
        let body: @Sendable (Int) -> Void = { results.record(channel.post($0 + 1)) }
        let token = hasOwner ? channel.listen(owner) { body($1) } : channel.listen { body($0) }
        #expect(channel.post(1) == 1)
        #expect(results.all == [0, 1, 1, 1, 1])
        #expect(faults.count == 1)
        let fault = faults.all.first
        #expect(fault?.code == .recursionLimit)
        #expect(fault?.channelName == "Channel<Int>" && fault?.channelKind == .messages)
        #expect(fault?.detail?.contains("5") == true)
        #expect(fault?.registrationSite == site)
        // The closure holds the channel.
        token.cancel()
        withExtendedLifetime(owner) {}
    }

    /// What posts the same again.
    enum Loop: CaseIterable { case owner, token, interceptor, mainActor, pattern, patternWithOwner }

    @MainActor @Test(arguments: Loop.allCases, [Switchboard.Diagnostics.off, .counts])
    func theFaultOfALoopNamesTheListenerOfWhateverKind(_ loop: Loop, _ diagnostics: Switchboard.Diagnostics) async {
        let faults = Recorder<Fault>()
        let board = Switchboard(onFault: { faults.record($0) }, diagnostics: diagnostics)
        let (channel, owner) = (board.channel("loop.channel" as ChannelName<Int>), Owner())
        let tokens = [channel.listen { _ in }, listen(to: channel, board, loop, owner, line: 1_234)]
        // The others on a thread whose stack is deep enough for 64 posts that are counted, of a debug build.
        if loop == .mainActor { channel.post(0) } else { await onThreads(1) { _ in channel.post(0) } }
        #expect(faults.all.map(\.code) == [.recursionLimit])
        #expect(faults.all.first?.registrationSite == CallSite(fileID: #fileID, line: 1_234))
        withExtendedLifetime((tokens, owner)) {}
    }

    /// Closures written here have no isolation unless they say so.
    private func listen(to channel: Channel<Int>, _ board: Switchboard, _ loop: Loop, _ owner: Owner, line: UInt)
        -> ListenerToken
    {
        let pattern = board[matching: "loop.*"]
        let post: @Sendable () -> Void = { [weak channel] in channel?.post(1) }
        return switch loop {
        case .owner: channel.listen(owner, line: line) { _, _ in post() }
        case .token: channel.listen(line: line) { _ in post() }
        case .interceptor:
            channel.intercept(line: line) { _ in
                post()
                return .continue
            }
        case .mainActor: channel.listen(line: line) { @MainActor [weak channel] _ in channel?.post(1) }
        case .pattern: pattern.listen(line: line) { _ in post() }
        case .patternWithOwner: pattern.listen(owner, line: line) { _, _ in post() }
        }
    }

    @Test func theDefaultLimitIs64PostsOfOneChannelOnOneStack() {
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let deepest = Tally()
        let token = channel.listen { depth in
            deepest.add()
            channel.post(depth + 1)
        }
        channel.post(1)
        #expect(deepest.value == 64)
        #expect(faults.all.map(\.code) == [.recursionLimit])
        #expect(channel.post(1) == 1)
        #expect(deepest.value == 128)
        withExtendedLifetime(token) {}
    }

    /// What is put off counts as posted when its turn comes.
    @Test func aQueuedPostIsHeardByAListenerAddedBeforeItsTurn() {
        let channel = Channel<Int>(reentrancy: .queued)
        let heard = Recorder<Int>()
        let later = Slot<ListenerToken?>(nil)
        let token = channel.listen(once: true) { _ in
            channel.post(2)
            later.value = channel.listen { heard.record($0) }
        }
        channel.post(1)
        #expect(heard.all == [2])
        withExtendedLifetime((token, later)) {}
    }

    @Test func queuedPostsWaitUntilTheRunningPostHasFinishedWithEveryListener() {
        let channel = Channel<String>(reentrancy: .queued)
        let heard = Recorder<String>()
        let third = Slot<ListenerToken>()
        let tokens = (1...3).map { index in
            channel.listen { message in
                heard.record("\(message)\(index)")
                guard message == "i" else { return }
                channel.post("s")
                if index == 3 { third.value?.cancel() }
            }
        }
        third.value = tokens[2]
        channel.post("i")
        #expect(heard.all == ["i1", "i2", "i3", "s1", "s2", "s1", "s2", "s1", "s2"])
        withExtendedLifetime(tokens) {}
    }

    @Test func allListenersOfAQueuedChannelHearOneOrder() {
        let channel = Channel<Int>(reentrancy: .queued)
        let heard = (0..<3).map { _ in Recorder<Int>() }
        let tokens = heard.map { heard in
            channel.listen { message in
                heard.record(message)
                if message < 40 {
                    channel.post(message * 2)
                    channel.post(message * 2 + 1)
                }
            }
        }
        channel.post(10)
        #expect(heard[0].count > 20)
        #expect(heard[0].all == heard[1].all)
        #expect(heard[0].all == heard[2].all)
        withExtendedLifetime(tokens) {}
    }

    @Test func aQueuedPostReachesThoseOfItsTurnAndCountsThoseBefore() {
        let channel = Channel<String>(reentrancy: .queued)
        let heard = Recorder<String>()
        let added = Slot<ListenerToken>()
        let first = channel.listen { message in
            heard.record("first \(message)")
            guard message == "i" else { return }
            #expect(channel.post("s") == 1)
            added.value = channel.listen { heard.record("added \($0)") }
        }
        #expect(channel.post("i") == 1)
        #expect(heard.all == ["first i", "first s", "added s"])
        withExtendedLifetime(first) {}
    }

    @Test(arguments: [Reentrancy.queued(limit: 3), .queued])
    func theQueuedLimitBoundsTheDepthOfTheChain(reentrancy: Reentrancy) {
        let limit = reentrancy == .queued ? 1_024 : 3
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(reentrancy: reentrancy) { faults.record($0) }
        let heard = Recorder<Int>()
        let results = Recorder<Int>()
        let token = channel.listen { message in
            heard.record(message)
            results.record(channel.post(message + 1))
        }
        channel.post(1)
        #expect(heard.all == Array(1...limit))
        #expect(results.all == Array(repeating: 1, count: limit - 1) + [0])
        #expect(faults.all.map(\.code) == [.recursionLimit])
        #expect(faults.all.first?.detail?.contains("\(limit)") == true)
        withExtendedLifetime(token) {}
    }

    @Test func aQueuedLimitDoesNotBoundHowManyPostsOneListenerMakes() {
        let faults = Recorder<Fault>()
        let channel = Channel<Int>(reentrancy: .queued(limit: 2)) { faults.record($0) }
        let calls = Tally()
        let token = channel.listen { message in
            calls.add()
            if message == 0 { for index in 1...500 { channel.post(index) } }
        }
        channel.post(0)
        #expect(calls.value == 501)
        #expect(faults.count == 0)
        withExtendedLifetime(token) {}
    }

    @MainActor @Test func aQueuedPostCallsItsActorsListenerBeforeTheRunningPostReturns() {
        let channel = Channel<Int>(reentrancy: .queued)
        var heard: [Int] = []
        let tokens = [
            channel.listen { @Sendable message in if message == 1 { channel.post(2) } },
            channel.listen { @MainActor message in heard.append(message) },
        ]
        channel.post(1)
        #expect(heard == [1, 2])
        withExtendedLifetime(tokens) {}
    }

    @Test func postAndWaitWaitsForWhatIsQueuedBehindAnother() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>(reentrancy: .queued)
        let reports = Recorder<DeliveryReport>()
        let asks = Channel<Int>()
        let tokens = [
            channel.listen { message in if message == 1 { asks.post(2) } },
            channel.listen(on: queue) { _ in },
            asks.listen { message in Task { reports.record(await channel.postAndWait(message)) } },
        ]
        channel.post(1)
        await wait(for: tokens[1].waitingCount) { $0 >= 2 }
        #expect(reports.count == 0)
        queue.resume()
        #expect(await reports.wait(count: 1).map(\.completedCount) == [2])
        withExtendedLifetime(tokens) {}
    }

    /// What is bounded is how many wait at a time.
    @Test func anyNumberMayFollowFromOneQueuedPostOneAfterTheOther() {
        let channel = Channel<Int>(reentrancy: .queued) { fault in Issue.record("\(fault)") }
        let calls = Tally()
        let token = channel.listen { depth in
            calls.add()
            if depth == 0 { for _ in 0..<2_000 { channel.post(1) } } else if depth < 20 { channel.post(depth + 1) }
        }
        channel.post(0)
        #expect(calls.value == 1 + 2_000 * 20)
        withExtendedLifetime(token) {}
    }

    @Test func aPostFromAnotherThreadIsThatThreadsOwn() {
        let channel = Channel<String>(reentrancy: .queued)
        let heard = Recorder<String>()
        let token = channel.listen { message in
            heard.record("\(message) begins")
            if message == "i" { onAnotherThread { channel.post("other") } }
            heard.record("\(message) ends")
        }
        channel.post("i")
        #expect(heard.all == ["i begins", "other begins", "other ends", "i ends"])
        withExtendedLifetime(token) {}
    }

    @Test func aQueuedPostThroughAnotherChannelWaitsToo() {
        let queued = Channel<String>(reentrancy: .queued)
        let other = Channel<String>()
        let heard = Recorder<String>()
        let tokens = [
            queued.listen { if $0 == "i" { other.post("s") } },
            queued.listen { heard.record($0) },
            other.listen { queued.post($0) },
        ]
        queued.post("i")
        #expect(heard.all == ["i", "s"])
        withExtendedLifetime(tokens) {}
    }

    @Test func aQueuedPostKeepsItsSenderAndEcho() {
        let channel = Channel<String>(reentrancy: .queued)
        let heard = Recorder<String>()
        let owner = Owner()
        channel.listen(owner) { me, message in
            heard.record("own \(message)")
            if message == "i" { channel.post("s", from: me, echo: false) }
        }
        let other = channel.posts.listen { heard.record("other \($0.message) \($0.sender === owner)") }
        channel.post("i")
        #expect(heard.all == ["own i", "other i false", "other s true"])
        channel.removeListeners(of: owner)
        withExtendedLifetime(other) {}
    }

    @Test func localChannelsAreNestedOrQueuedWithTheSameLimits() {
        let nested = LocalChannel<Int>(reentrancy: .nested(limit: 7)) { _ in }
        var depth = 0
        let first = nested.listen { [unowned nested] message in
            depth += 1
            nested.post(message)
        }
        nested.post(1)
        #expect(depth == 7)
        let queued = LocalChannel<String>(reentrancy: .queued)
        var heard: [String] = []
        let tokens = (1...2).map { index in
            queued.listen { [unowned queued] message in
                heard.append("\(message)\(index)")
                if message == "i" { queued.post("s") }
            }
        }
        queued.post("i")
        #expect(heard == ["i1", "i2", "s1", "s2", "s1", "s2"])
        withExtendedLifetime((first, tokens)) {}
    }

    @Test func notifyIsNestedAtMost64DeepWhateverTheSwitchboardsReentrancy() {
        let faults = Recorder<Fault>()
        let board = Switchboard(reentrancy: .queued) { faults.record($0) }
        let reached = Recorder<Int>()
        let bell = Bell { reached.record(board.notify((any Sounding).self) { $0.sound() }) }
        board.add(bell, for: (any Sounding).self)
        #expect(board.notify((any Sounding).self) { $0.sound() } == 1)
        #expect(bell.calls.value == 64)
        #expect(reached.all == [0] + Array(repeating: 1, count: 63))
        #expect(faults.all.map(\.code) == [.recursionLimit])
    }

    @Test(arguments: [false, true])
    func postingFromAMailboxIsNoRecursion(isOnQueue: Bool) async {
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let gate = Gate()
        let heard = Tally()
        let body: @Sendable (Int) -> Void = { message in
            if heard.add() == 2_999 { gate.open() } else { channel.post(message + 1) }
        }
        let token =
            isOnQueue
            ? channel.listen(on: DispatchQueue(label: "echo")) { body($0) }
            : channel.listen { (message: Int) async in body(message) }
        channel.post(0)
        await gate.wait()
        token.cancel()
        #expect(heard.value == 3_000)
        #expect(faults.count == 0)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aLimitThatIsNotPositiveTraps() async {
        await #expect(processExitsWith: .failure) { _ = Reentrancy.nested(limit: 0) }
        await #expect(processExitsWith: .failure) { _ = Reentrancy.queued(limit: -1) }
    }
    #endif
}
