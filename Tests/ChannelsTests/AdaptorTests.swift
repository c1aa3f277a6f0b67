import Channels
import ChannelsTesting
import Dispatch
import Testing

struct AdaptorTests {
    private let channel = Channel<Int>()

    @Test func filterHearsWhatSatisfiesItsCondition() {
        let heard = Recorder(of: channel.filter { $0 > 2 })
        let reached = (1...5).map { channel.post($0) }
        #expect(heard.all == [3, 4, 5])
        #expect(reached == [0, 0, 1, 1, 1])
    }

    @Test func mapHearsWhatTheClosureReturns() {
        let heard = Recorder(of: channel.map { "\($0)!" })
        for number in 1...3 { channel.post(number) }
        #expect(heard.all == ["1!", "2!", "3!"])
    }

    @Test func compactMapSkipsWhatBecomesNil() {
        let heard = Recorder(of: channel.compactMap { $0.isMultiple(of: 2) ? "\($0)" : nil })
        for number in 1...4 { channel.post(number) }
        #expect(heard.all == ["2", "4"])
    }

    @Test func adaptorsComposeInTheOrderInWhichTheyAreWritten() {
        let heard = Recorder(
            of: channel.filter { $0 > 1 }.map { $0 * 10 }.filter { $0 != 30 }.prefix(2).map { "\($0)" }
        )
        for number in 1...6 { channel.post(number) }
        #expect(heard.all == ["20", "40"])
        #expect(channel.isEmpty)
    }

    /// Each on its own, also where one before it has ended with the same message.
    @Test func onceEndsBehindAListenerThatEndedWithTheSameMessage() {
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let tokens = [
            channel.prefix(1).listen { first.record($0) },
            channel.filter { $0 > 0 }.listen(once: true) { second.record($0) },
        ]
        for number in 1...3 { channel.post(number) }
        #expect(first.all == [1] && second.all == [1])
        withExtendedLifetime(tokens) {}
    }

    /// What becomes of one listener leaves nothing for the next, whoever owns it, and whatever ended the first.
    @Test(arguments: [false, true], [0, 1]) func onceEndsBehindAPrefixThatEnds(isOwned: Bool, passes: Int) {
        let (owner, prefix, once) = (Owner(), Recorder<Int>(), Recorder<Int>())
        let ended = channel.prefix { $0 < passes }.prefix(1).listen { prefix.record($0) }
        let token =
            isOwned
            ? channel.listen(owner, once: true) { _, number in once.record(number) }
            : channel.listen(once: true) { once.record($0) }
        for number in 0..<3 { channel.post(number) }
        #expect(prefix.all == (passes == 0 ? [] : [0]) && once.all == [0])
        #expect(!ended.isActive && !token.isActive)
        withExtendedLifetime(owner) {}
    }

    @Test func onceEndsWithTheFirstMessageThatPasses() {
        let heard = Recorder<Int>()
        let token = channel.filter { $0 > 2 }.listen(once: true) { heard.record($0) }
        for number in 1...4 { channel.post(number) }
        #expect(heard.all == [3])
        #expect(!token.isActive)
    }

    @Test func aSkippedMessageTakesNoPlaceInABuffer() async {
        let queue = DispatchQueue(label: "adapted")
        queue.suspend()
        let heard = Recorder<Int>()
        let token = channel.filter { $0.isMultiple(of: 10) }.listen(on: queue, buffering: .newest(2)) {
            heard.record($0)
        }
        for number in 1...50 { channel.post(number) }
        #expect(token.waitingCount == 2)
        #expect(token.droppedCount == 3)
        queue.resume()
        await heard.wait(count: 2)
        #expect(heard.all == [40, 50])
        #expect(token.deliveredCount == 2)
    }

    @Test func aSequenceYieldsWhatPasses() async {
        let messages = channel.filter { $0 > 3 }.map { "\($0)" }.messages(buffering: .oldest(2))
        for number in 1...9 { channel.post(number) }
        #expect(messages.waitingCount == 2)
        var read: [String] = []
        for await message in messages.prefix(2) { read.append(message) }
        #expect(read == ["4", "5"])
        #expect(messages.droppedCount == 4)
    }

    @Test func aSequenceEndsWithTheLastOfItsPrefix() async {
        for messages in [channel.prefix(2).messages(), channel.prefix { $0 < 3 }.messages()] {
            async let read = messages.reduce(into: []) { $0.append($1) }
            for number in 1...4 { channel.post(number) }
            #expect(await read == [1, 2])
        }
    }

    @Test func aReaderThatWaitsHearsThatThePrefixHasEnded() async {
        for yields in 0..<100 {
            let messages = channel.prefix { $0 < 1 }.messages()
            async let first = messages.reduce(into: [Int]()) { $0.append($1) }
            async let second = messages.reduce(into: [Int]()) { $0.append($1) }
            for _ in 0..<yields { await Task.yield() }
            channel.post(7)
            #expect(await first + second == [])
        }
    }

    @Test func nextHearsTheFirstThatPasses() async {
        let source = channel.filter { $0 > 2 }.map { $0 * 2 }
        async let next = source.first { $0 > 6 }
        await wait(for: channel.listenerCount) { $0 == 1 }
        for number in 1...5 { channel.post(number) }
        #expect(await next == 8)
    }

    @Test(arguments: [1, 2, 64, 1_000]) func prefixHearsExactlySoManyThoughSeveralThreadsPost(count: Int) async {
        let (direct, queued) = (Tally(), Tally())
        let tokens = [
            channel.prefix(count).listen { _ in direct.add() },
            channel.prefix(count).listen(on: .global()) { _ in queued.add() },
        ]
        await onThreads(4) { _ in for number in 0..<1_000 { channel.post(number) } }
        #expect(direct.value == count)
        await queued.wait(until: count)
        #expect(queued.value == count)
        #expect(channel.isEmpty)
        withExtendedLifetime(tokens) {}
    }

    @Test func postByTheLastOfAPrefixDoesNotReachIt() {
        let heard = Recorder<Int>()
        let token = channel.prefix(2).listen { number in
            heard.record(number)
            channel.post(number + 10)
        }
        channel.post(1)
        #expect(heard.all == [1, 11])
        #expect(!token.isActive)
    }

    @Test func whatWaitsWhenAPrefixEndsIsDelivered() async {
        let queue = DispatchQueue(label: "adapted")
        queue.suspend()
        let heard = Recorder<Int>()
        let token = channel.prefix { $0 < 4 }.listen(on: queue) { heard.record($0) }
        for number in 1...6 { channel.post(number) }
        #expect(!token.isActive)
        queue.resume()
        await heard.wait(count: 3)
        #expect(heard.all == [1, 2, 3])
    }

    @Test func messagesMissedWhilePausedDoNotCountForAPrefix() {
        let heard = Recorder<Int>()
        let token = channel.prefix(2).listen { heard.record($0) }
        token.pause()
        for number in 1...3 { channel.post(number) }
        #expect(token.missedCount == 3)
        token.resume()
        for number in 4...6 { channel.post(number) }
        #expect(heard.all == [4, 5])
    }

    @Test func messagesNotForAnOwnerDoNotReachItsAdaptors() {
        final class Owner: Sendable {}
        let (owner, asked, heard) = (Owner(), Tally(), Recorder<Int>())
        channel.filter { _ in asked.add() >= 0 }.listen(owner) { heard.record($1) }
        channel.post(1, from: owner, echo: false)
        channel.post(2, from: owner)
        #expect(asked.value == 1)
        #expect(heard.all == [2])
    }

    @Test func aListenerCancelledByItsAdaptorIsNotCalled() {
        let (token, heard) = (Slot<ListenerToken>(), Recorder<Int>())
        let filtered = channel.filter { _ in
            token.value?.cancel()
            return true
        }
        token.value = filtered.listen { heard.record($0) }
        #expect(channel.post(1) == 0)
        #expect(heard.all == [])
    }

    @Test func adaptorThatPostsOnItsOwnChannelIsBounded() {
        let faults = Recorder<Fault.Code>()
        let channel = Channel<Int>(onFault: { faults.record($0.code) })
        let heard = Recorder<Int>()
        let token = channel.filter { number in
            channel.post(number + 1)
            return false
        }.listen { heard.record($0) }
        #expect(channel.post(1) == 0)
        #expect(faults.all == [.recursionLimit])
        #expect(heard.all == [])
        withExtendedLifetime(token) {}
    }

    @Test func anAdaptedListenerKeepsItsPlaceAmongTheOthers() {
        let heard = Recorder<String>()
        let tokens = [
            channel.listen { _ in heard.record("second") },
            channel.filter { _ in true }.listen { _ in heard.record("third") },
            channel.map { $0 }.listen(priority: .high) { _ in heard.record("first") },
        ]
        #expect(channel.post(1) == 3)
        #expect(heard.all == ["first", "second", "third"])
        withExtendedLifetime(tokens) {}
    }

    @Test func neighboursInOneLaneHearTheMessageAsItIs() async {
        let queue = DispatchQueue(label: "adapted")
        let (plain, adapted) = (Recorder<Int>(), Recorder<[Int]>())
        let tokens = [
            channel.listen(on: queue) { plain.record($0) },
            channel.map { [$0, $0] }.listen(on: queue) { adapted.record($0) },
            channel.listen(on: queue) { plain.record($0) },
            channel.filter { $0 > 1 }.listen(on: queue) { plain.record($0) },
        ]
        for number in 1...3 { channel.post(number) }
        await adapted.wait(count: 3)
        await plain.wait(count: 8)
        #expect(adapted.all == [[1, 1], [2, 2], [3, 3]])
        #expect(plain.all == [1, 1, 2, 2, 2, 3, 3, 3])
        withExtendedLifetime(tokens) {}
    }

    @Test func postAndWaitReportsOnlyThoseThatTheMessagePasses() async {
        let tokens = [
            channel.filter { $0 > 1 }.listen { (_: Int) async in await Task.yield() },
            channel.filter { $0 > 2 }.listen { _ in },
        ]
        #expect(await channel.postAndWait(1).reachedCount == 0)
        let report = await channel.postAndWait(2)
        #expect(report.reachedCount == 1 && report.completedCount == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test func aStatesAdaptorsHearTheCurrentValueFirst() {
        let state = StateChannel(3)
        let (large, small) = (Recorder(of: state.filter { $0 > 2 }), Recorder(of: state.filter { $0 < 3 }))
        state.set(1)
        state.set(4)
        #expect(large.all == [3, 4])
        #expect(small.all == [1])
    }

    @Test func aPartOfAStateIsFilteredAfterItHasChanged() {
        let state = StateChannel((total: 1, dish: "soup"))
        let heard = Recorder(of: state.map(\.total).removingDuplicates().filter { $0 > 1 })
        for (total, dish) in [(1, "cake"), (2, "cake"), (2, "tea"), (3, "tea")] { state.set((total, dish)) }
        #expect(heard.all == [2, 3])
    }

    @Test func removingDuplicatesSkipsWhatEqualsTheOneBefore() {
        let different = channel.removingDuplicates()
        let heard = Recorder(of: different)
        #expect([1, 1, 2, 1, 1].map { channel.post($0) } == [1, 0, 1, 1, 0])
        #expect(heard.all == [1, 2, 1])
        // Each listener has its own memory.
        let late = Recorder(of: different)
        channel.post(1)
        #expect(heard.all == [1, 2, 1] && late.all == [1])
        let parity = Recorder(of: channel.map { $0 % 2 }.removingDuplicates().prefix(2))
        for number in 2...8 { channel.post(number) }
        #expect(parity.all == [0, 1])
    }

    @Test func duplicatesTakeNoPlaceInABuffer() async {
        let numbers = channel.removingDuplicates().messages(buffering: .newest(2))
        for number in [1, 2, 2, 2, 2] { channel.post(number) }
        var read = numbers.makeAsyncIterator()
        #expect(await read.next() == 1)
        #expect(await read.next() == 2)
        #expect(numbers.droppedCount == 0)
    }

    @Test func adaptorsOfPatternsHearThePosts() {
        let board = Switchboard()
        let heard = Recorder(of: board[matching: "shop.*"].compactMap { $0.message as? Int }.filter { $0 > 1 })
        board["shop.a" as ChannelName<Int>].post(1)
        board["shop.a" as ChannelName<Int>].post(2)
        board["shop.b" as ChannelName<String>].post("3")
        #expect(heard.all == [2])
    }

    @Test func messagesThatOwnMemoryAreReleased() async {
        final class Part: Sendable {}
        weak var part: Part?
        do {
            let channel = Channel<[Part]>()
            let made = Part()
            part = made
            let token = channel.filter { !$0.isEmpty }.compactMap(\.first).listen { (_: Part) async in }
            await channel.postAndWait([made])
            await channel.postAndWait([])
            await token.cancelAndWait()
        }
        #expect(part == nil)
    }

    @Test func aSourceOfOnesOwnSkipsMessages() {
        struct Large: Listenable {
            let source: Channel<Int>
            func register(_ listener: consuming Listener<String>, isolation: isolated (any Actor)?) -> ListenerToken {
                source.register(listener.compactAdapted({ $0 > 1 ? "\($0)" : nil }), isolation: isolation)
            }
        }
        let heard = Recorder(of: Large(source: channel).filter { $0 != "3" })
        for number in 1...4 { channel.post(number) }
        #expect(heard.all == ["2", "4"])
    }

    @Test func onceBehindAPrefixHearsTheLastMessageOfIt() {
        let heard = Recorder<Int>()
        let token = channel.filter { $0 > 0 }.prefix(1).listen(once: true) { heard.record($0) }
        #expect((0...2).map { channel.post($0) } == [0, 1, 0])
        #expect(heard.all == [1] && !token.isActive)
    }

    @Test func theAdaptorsOfADeallocatedOwnerAreNotCalled() {
        let (asked, told) = (Tally(), Recorder<Bool>())
        let channel = Channel<Int>(onDemand: { _ in
            told.record(true)
            return { told.record(false) }
        })
        do { channel.filter { _ in asked.add() < 0 }.listen(Owner()) { _, _ in } }
        #expect(channel.post(1) == 0)
        #expect(asked.value == 0 && told.all == [true, false])
    }

    @Test func cancellingReleasesWhatAnAdaptorCaptured() {
        final class Holder: @unchecked Sendable { var token: ListenerToken? }
        weak var holder: Holder?
        do {
            let made = Holder()
            holder = made
            made.token = channel.filter { _ in made.token != nil }.listen { _ in }
            made.token?.cancel()
        }
        #expect(holder == nil)
    }

    @Test func aSequenceReadsWhatWasUnderWayWhenItsPrefixEnded() async {
        let (inside, proceed) = (Tally(), DispatchSemaphore(value: 0))
        let messages = channel.prefix(2).map { number in
            if number == 1 {
                inside.add()
                proceed.wait()
            }
            return number
        }.messages()
        async let posting: Void = onThreads(1) { _ in channel.post(1) }
        await inside.wait(until: 1)
        channel.post(2)
        async let read = messages.reduce(into: Set<Int>()) { $0.insert($1) }
        for _ in 0..<100 { await Task.yield() }
        proceed.signal()
        #expect(await read == [1, 2])
        await posting
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aPrefixOfNothingTraps() async {
        await #expect(processExitsWith: .failure) { _ = Channel<Int>().prefix(0) }
    }
    #endif
}
