import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Rules 6 and 7: one order for everything that runs on one actor or one queue.
struct LaneTests {
    // MARK: Rule 7, across channels

    @Test(arguments: LanePlace.allCases)
    func whatOneThreadPostsOnTwoChannelsIsHeardInOrder(place: LanePlace) async {
        let site = LaneSite(place)
        let (inserts, deletes) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let tokens = [
            await site.listen(to: inserts) { heard.record($0) },
            await site.listen(to: deletes) { heard.record($0) },
        ]
        await onThreads(2) { poster in
            for number in 0..<300 {
                let channel = number % 3 == 1 ? deletes : inserts
                channel.post(poster * 1_000 + number)
            }
        }
        site.begin()
        let all = await heard.wait(count: 600)
        for poster in 0..<2 {
            let expected = (0..<300).map { poster * 1_000 + $0 }
            #expect(all.filter { $0 / 1_000 == poster } == expected)
        }
        withExtendedLifetime(tokens) {}
    }

    @Test func whatOneThreadPostsAcrossKindsOfChannelsIsHeardInOrder() async {
        let board = Switchboard()
        let (channel, state) = (Channel<Int>(), StateChannel(-1))
        let owners = (0..<3).map { _ in Owner() }
        let heard = Recorder<String>()
        let note: @MainActor @Sendable (String, Int) -> Void = { heard.record("\($0) \($1)") }
        let name: ChannelName<Int> = "lane.place"
        channel.listen(owners[0]) { @MainActor _, message in note("channel", message) }
        state.listen(owners[1]) { @MainActor _, message in note("state", message) }
        board[name].listen(owners[2]) { @MainActor _, message in note("name", message) }
        let tokens = [
            board[matching: "lane.*"].listen { @MainActor post in note("pattern", post.message as! Int) },
            channel.posts.listen { @MainActor post in note("posts", post.message) },
            board[Int.self].listen { @MainActor message in note("type", message) },
        ]
        _ = await heard.wait(count: 1)
        await onThreads(1) { _ in
            for number in 0..<200 {
                channel.post(number)
                state.set(number)
                board[name].post(number)
                board[Int.self].post(number)
            }
        }
        let all = await heard.wait(count: 1 + 6 * 200)
        let kinds = ["channel", "posts", "state", "name", "pattern", "type"]
        let expected: [String] = (0..<200).flatMap { number in kinds.map { "\($0) \(number)" } }
        #expect(all == ["state -1"] + expected)
        withExtendedLifetime((tokens, owners)) {}
    }

    @Test func whatAnActorPostsOnTwoChannelsIsHeardElsewhereInOrder() async {
        let (first, second) = (Channel<Int>(), Channel<Int>())
        let heard = Recorder<Int>()
        let tokens = [
            first.listen { @MainActor message in heard.record(message) },
            second.listen { @MainActor message in heard.record(message) },
        ]
        let executor = HeldExecutor()
        let actor = HeldActor(on: executor)
        // Two tasks of one actor: what counts is that it is the actor that posts.
        let tasks = (0..<2).map { task in
            Task {
                await actor.run { _ in
                    for number in 0..<100 { (number % 2 == 0 ? first : second).post(task * 100 + number) }
                }
            }
        }
        await executor.run { executor.count == 2 }
        for task in tasks { await task.value }
        let all = await heard.wait(count: 200)
        let (one, other) = (Array(0..<100), Array(100..<200))
        #expect(all == one + other || all == other + one)
        withExtendedLifetime(tokens) {}
    }

    /// Where the poster's own priority is lower: somebody looks at what the main actor shows.
    @Test func whatWaitsForTheMainActorComesWithThePriorityOfWhatAUserHasAskedFor() async {
        let channel = Channel<Int>()
        let heard = Recorder<TaskPriority>()
        let token = channel.listen { @MainActor _ in heard.record(Task.currentPriority) }
        await Task.detached(priority: .background) { _ = channel.post(1) }.value
        #expect(await heard.wait(count: 1) == [.userInitiated])
        withExtendedLifetime(token) {}
    }

    // MARK: Rule 6, beyond the poster's thread

    @Test(arguments: LanePlace.allCases)
    func highAndLowListenersOfOneChannelAreCalledInTurn(place: LanePlace) async {
        let site = LaneSite(place)
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let tokens = [
            await site.listen(to: channel, priority: .low) { heard.record("low \($0)") },
            await site.listen(to: channel) { heard.record("first \($0)") },
            await site.listen(to: channel, priority: .high) { heard.record("high \($0)") },
            await site.listen(to: channel) { heard.record("second \($0)") },
        ]
        await onThreads(1) { _ in for number in 0..<200 { channel.post(number) } }
        site.begin()
        let all = await heard.wait(count: 800)
        let names = ["high", "first", "second", "low"]
        let expected: [String] = (0..<200).flatMap { number in names.map { "\($0) \(number)" } }
        #expect(all == expected)
        withExtendedLifetime(tokens) {}
    }

    // MARK: Global queues

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func listenersOnAGlobalConcurrentQueueRunAtTheSameTime() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let inside = Tally()
            let tokens = (0..<2).map { _ in
                channel.listen(on: .global()) { _ in
                    inside.add()
                    inside.spin(until: 2)
                }
            }
            await channel.postAndWait(1)
            withExtendedLifetime(tokens) {}
        }
    }
    #endif

    /// In a lane, and in the mailboxes that tasks read.
    @Test func aFaultSaysThatTooManyMessagesWait() async {
        let faults = Recorder<Fault.Code>()
        let channel = Channel<Int>(onFault: { faults.record($0.code) })
        let leave = Gate()
        let queue = DispatchQueue(label: "lane")
        queue.suspend()
        let unread = channel.messages()
        let tokens = [channel.listen(on: queue) { _ in }, channel.listen { _ in await leave.wait() }]
        for number in 0..<1 << 20 { channel.post(number) }
        #expect(faults.all == [])
        // One may be under way.
        for number in 0..<2 { channel.post(number) }
        #expect(faults.all == Array(repeating: .laneBacklog, count: 3))
        for token in tokens { token.cancel() }
        leave.open()
        queue.resume()
        for token in tokens { await token.cancelAndWait() }
        withExtendedLifetime(unread) {}
    }
}
