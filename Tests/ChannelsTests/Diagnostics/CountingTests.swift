import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Foundation
import Testing

struct CountingTests {
    let board = Switchboard(onFault: { _ in })
    let number = ChannelName<Int>("count.number")

    private func shown(_ name: String = "count.number") throws -> ChannelSnapshot { try board.shown(name) }

    @Test func nothingIsCountedWhileDiagnosticsAreOff() throws {
        let token = board[number].listen { _ in }
        board[number].post(1)
        let channel = try shown()
        #expect(channel.postCount == nil && channel.unreceivedCount == nil && channel.countingTime == nil)
        #expect(channel.listeners.map(\.deliveredCount) == [nil])
        withExtendedLifetime(token) {}
    }

    @Test func switchedOnAtRunTimePostsAndDeliveriesAreCountedFromThere() throws {
        let token = board[number].listen { _ in }
        for message in 0..<5 { board[number].post(message) }
        board.diagnostics = .counts
        for message in 0..<3 { board[number].post(message) }
        let channel = try shown()
        #expect(channel.postCount == 3)
        #expect(channel.listeners.map(\.deliveredCount) == [3])
        #expect(token.deliveredCount == 3)
    }

    @Test func switchedOnAgainCountsBeginAtZero() throws {
        let token = board[number].listen { _ in }
        board.diagnostics = .counts
        board[number].post(1)
        board.diagnostics = .off
        board[number].post(2)
        board.diagnostics = .trace
        board[number].post(3)
        board[number].post(4)
        board.diagnostics = .counts
        board[number].post(5)
        #expect(try shown().postCount == 3)
        #expect(try shown().listeners.map(\.deliveredCount) == [3])
        withExtendedLifetime(token) {}
    }

    @Test func postsNobodyHearsAreCountedAlsoOfNamesWithoutAChannel() throws {
        board.diagnostics = .counts
        board[number].post(1)
        #expect(try shown().postCount == 1)
        #expect(try shown().unreceivedCount == 1)
        #expect(try shown().listeners.isEmpty)
        let channel = board.channel(number)
        channel.post(2)
        let token = channel.listen { _ in }
        channel.post(3)
        token.pause()
        channel.post(4)
        #expect(try shown().postCount == 3)
        #expect(try shown().unreceivedCount == 2)
        #expect(try shown().listeners.map(\.missedCount) == [1])
    }

    @Test func aStateThatOnlyAMailboxHearsIsHeard() throws {
        board.diagnostics = .counts
        let queue = DispatchQueue.suspended()
        let state = board.state(StateName<Int>("count.state"), initial: 0)
        state.set(1)
        #expect(try shown("count.state").unreceivedCount == 1)
        let token = state.listen(on: queue) { _ in }
        state.set(2)
        state.update { $0 = 3 }
        #expect(try shown("count.state").postCount == 3)
        #expect(try shown("count.state").unreceivedCount == 1)
        token.cancel()
        queue.resume()
    }

    @MainActor @Test func aPatternThatHearsAStateCountsEachValueOnce() throws {
        board.diagnostics = .counts
        let state = board.state(StateName<Int>("count.state"), initial: 0)
        let token = board[matching: "count.*"].listen { @MainActor _ in }
        for value in 1...3 { state.set(value) }
        #expect(token.deliveredCount == 3)
        #expect(try shown("count.*").postCount == 3)
        state.set(4, isolation: nil)
        #expect(try shown("count.*").postCount == 4)
        token.cancel()
    }

    @Test func listenersAreCalledWithTheirOwnersWhileTheyAreCounted() throws {
        board.diagnostics = .counts
        let heard = Recorder<String>()
        let owner = Owner()
        board[number].listen(owner) { me, message in heard.record("\(me === owner) \(message)") }
        let token = board[number].listen { heard.record("\($0)") }
        for message in 1...2 { #expect(board[number].post(message) == 2) }
        #expect(heard.all == ["true 1", "1", "true 2", "2"])
        #expect(try shown().listeners.map(\.deliveredCount) == [2, 2])
        withExtendedLifetime(token) {}
    }

    /// Also what is kept of traces.
    @Test func whatIsSwitchedOnAgainBeginsAnewInEverything() async throws {
        let queue = DispatchQueue(label: "count.again")
        let channel = board.channel(number)
        let tokens = [
            channel.listen(on: queue) { _ in },
            channel.listen { if $0 < 0 { throw Trouble() } },
        ]
        let sender = Owner()
        for _ in 0..<2 {
            let start = ContinuousClock.now
            board.diagnostics = .trace(keeping: 8)
            queue.suspend()
            for message in [1, 2, -3] { channel.post(message, from: sender) }
            queue.resume()
            await channel.postAndWait(4)
            do {
                let owner = Owner()
                channel.listen(owner) { _, _ in }
            }
            await channel.postAndWait(5)
            let shown = try shown()
            #expect(try #require(shown.countingTime) <= .now - start)
            #expect(shown.postCount == 5 && shown.deallocatedOwnerCount == 1 && shown.unreceivedCount == 0)
            #expect(shown.messages.map(\.number) == [1, 2, 3, 4, 5])
            #expect(shown.posters.map(\.postCount).sorted() == [1, 1, 3])
            let listener = try #require(shown.listeners.first)
            #expect(try #require(listener.maximumWaitingCount) >= 3 && listener.waitTimes?.count == 5)
            #expect(listener.callTimes?.count == 5 && shown.listeners.last?.failureCount == 1)
            board.diagnostics = .off
            await channel.postAndWait(6)
        }
        // What has waited before is forgotten; the one message may have been taken at once.
        board.diagnostics = .counts
        await channel.postAndWait(7)
        #expect(try #require(shown().listeners.first?.maximumWaitingCount) <= 1)
        withExtendedLifetime((tokens, sender)) {}
    }

    @Test func lanesInWhichMessagesWaitAreInTheTable() {
        let queue = DispatchQueue.suspended()
        let token = board[number].listen(on: queue) { _ in }
        let (idle, idleText) = (board.snapshot(), "\(board)")
        #expect(idle.lanes.count == 1 && !idleText.contains("\nlane "))
        board[number].post(1)
        let (busy, busyText) = (board.snapshot(), "\(board)")
        #expect(busyText.hasSuffix("\nlane \(busy.lanes[0].name), 1 waiting"))
        token.cancel()
        queue.resume()
    }

    @Test func theKindAndTheTypesOfEachChannelAreInTheTable() {
        let state = board.state(StateName<Int>("count.state"), initial: 0)
        let requests = board.requests(RequestName<Int, String>("count.request"))
        let lines = "\(board)".split(separator: "\n")
        #expect(lines.contains("count.state: state Int"))
        #expect(lines.contains("count.request: requests Int -> String"))
        withExtendedLifetime((state, requests)) {}
    }

    @Test func theMostThatWaitedIsKnownOfStatesAndPatternsToo() throws {
        board.diagnostics = .counts
        let queue = DispatchQueue.suspended()
        let state = board.state(StateName<Int>("count.state"), initial: 0)
        let slow = state.listen(on: queue) { _ in }
        let pattern = board[matching: "count.*"].listen(on: queue) { _ in }
        for value in 1...3 { state.set(value) }
        #expect(try shown("count.state").listeners.compactMap(\.maximumWaitingCount) == [4])
        #expect(try shown("count.*").listeners.map(\.maximumWaitingCount).allSatisfy { ($0 ?? 0) >= 3 })
        for token in [slow, pattern] { token.cancel() }
        queue.resume()
    }

    @Test func theMostThatWaitedAndTheDepthOfTheLaneAreShown() throws {
        board.diagnostics = .counts
        let queue = DispatchQueue.suspended()
        let slow = board[number].listen(on: queue) { _ in }
        let other = board.channel(ChannelName<Int>("count.other")).listen(on: queue) { _ in }
        for message in 0..<7 { board[number].post(message) }
        let channel = try shown()
        #expect(channel.listeners.map(\.maximumWaitingCount) == [7])
        #expect(channel.listeners.map(\.waitingCount) == [7])
        let lanes = board.snapshot().lanes
        #expect(lanes.map(\.waitingCount) == [7])
        #expect(try shown("count.other").listeners.map(\.laneIndex) == [0])
        #expect(channel.listeners.map(\.laneIndex) == [0])
        slow.cancel()
        queue.resume()
        withExtendedLifetime(other) {}
    }

    @Test func aWatchedChannelWithoutANameIsShownWhileItLives() throws {
        var till: Channel<Int>? = Channel<Int>()
        let token = till?.listen { _ in }
        board.watch(till!, as: "till.sold")
        till?.post(1)
        #expect(try shown("till.sold").postCount == nil)
        board.diagnostics = .counts
        till?.post(2)
        #expect(try shown("till.sold").postCount == 1)
        #expect(try shown("till.sold").listeners.count == 1)
        #expect("\(board)".contains("till.sold: Int, 1 post"))
        till = nil
        #expect(board.snapshot().watched.isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test func watchedChannelsAreShownInOrderAndWhatHasGoneIsForgotten() {
        var kept: [Channel<Int>] = []
        for number in 0..<500 {
            let channel = Channel<Int>()
            board.watch(channel, as: "\(number)")
            if number % 100 == 0 { kept.append(channel) }
        }
        board.watch(kept[0], as: "again")
        #expect(board.snapshot().watched.map(\.name) == ["again", "100", "200", "300", "400"])
    }

    @Test func everyKindOfChannelCanBeWatched() async throws {
        board.diagnostics = .counts
        let state = StateChannel(0)
        let requests = RequestChannel<Int, String>()
        let events = ProtocolChannel<any Sounding>()
        let bell = Bell()
        events.add(bell)
        board.watch(state, as: "state")
        board.watch(requests, as: "requests")
        board.watch(events, as: "events")
        let token = requests.respond { "\($0)" }
        state.set(1)
        _ = try await requests.ask(1)
        events.notify { $0.sound() }
        let watched = board.snapshot().watched
        #expect(watched.map(\.name) == ["state", "requests", "events"])
        #expect(watched.map(\.kind) == [.state, .requests, .protocol])
        #expect(watched.map(\.postCount) == [1, 1, 1])
        #expect(watched.map { $0.listeners.map(\.deliveredCount) } == [[], [1], [1]])
        withExtendedLifetime((state, requests, events, token, bell)) {}
    }

    @Test func aListenerRegisteredDuringAPostThatIsCountedHearsTheNext() {
        board.diagnostics = .counts
        let channel = Channel<Int>()
        board.watch(channel, as: "channel")
        let (heard, late) = (Recorder<Int>(), Recorder<Int>())
        let tokens = Recorder<ListenerToken>()
        let first = channel.listen { message in
            heard.record(message)
            if message == 1 { tokens.record(channel.listen { late.record($0) }) }
        }
        for message in 1...2 { channel.post(message) }
        #expect(heard.all == [1, 2] && late.all == [2])
        withExtendedLifetime((first, tokens)) {}
    }

    /// Switched on and off by one thread while others post, register and cancel: nothing is lost, and what is
    /// shown is never more than there was.
    @Test func switchingBesidePostingThreadsLosesNothing() async {
        let heard = Tally()
        let queue = DispatchQueue(label: "switching")
        let channel = board.channel(number)
        let tokens = [channel.listen { _ in heard.add() }, channel.listen(on: queue) { _ in heard.add() }]
        let instrument = board.addInstrument(CallCounter())
        let posters = 3
        let posts = 2_000
        await onThreads(posters + 1) { index in
            guard index > 0 else {
                for round in 0..<400 {
                    let settings: [Switchboard.Diagnostics] = [.counts, .trace, .off, .trace(keeping: 3)]
                    board.diagnostics = settings[round % 4]
                    let shown = board.snapshot().channels.first
                    #expect(shown?.postCount ?? 0 <= posters * posts)
                }
                return
            }
            for message in 0..<posts {
                channel.post(message)
                if message % 64 == 0 { channel.listen { _ in }.cancel() }
            }
        }
        // Behind everything else in the lane.
        await channel.postAndWait(0)
        #expect(heard.value == 2 * (posters * posts + 1))
        withExtendedLifetime((tokens, instrument)) {}
    }
}

/// An instrument that counts what it is called around.
final class CallCounter: ChannelInstrument {
    let posts = Tally()
    let calls = Tally()
    let faults = Tally()

    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        posts.add()
        deliver(posts.value)
    }

    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        calls.add()
        call()
    }

    func report(_ fault: Fault) { faults.add() }
}
