import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Ways in which listeners end: by their token from inside, one by one, all of an owner, all of a channel.
struct EndingTests {
    private let channel = Channel<Int>()
    private let queue = DispatchQueue(label: "ending")

    @Test func drainDeliversWhatWaitsAndHearsNothingMore() async {
        for _ in 0..<100 {
            let heard = Recorder<Int>()
            queue.suspend()
            let token = channel.listen(on: queue) { heard.record($0) }
            for number in 1...100 { channel.post(number) }
            async let finished: Void = token.drain()
            await wait(for: token.isActive) { !$0 }
            #expect(channel.post(101) == 0)
            queue.resume()
            await finished
            #expect(heard.all == Array(1...100))
            #expect(token.discardedCount == 0)
        }
    }

    /// Though the closure had the isolation of the actor.
    @Test func aTokenThatHasEndedKeepsNoActor() async {
        actor Cook {
            private var token: ListenerToken?
            private var cooked = 0

            func open(_ channel: Channel<Int>) {
                token = channel.listen { (number: Int) async in self.cook(number) }
            }

            func close() async { await token?.cancelAndWait() }

            private func cook(_ number: Int) { cooked += number }
        }
        var cook: Cook? = Cook()
        weak let living = cook
        await cook?.open(channel)
        await channel.postAndWait(1)
        await cook?.close()
        cook = nil
        await wait(for: living == nil) { $0 }
    }

    @Test func drainWaitsForTheLastCallOfAnAsyncListener() async {
        let (entered, ended) = (Tally(), Tally())
        let gate = Gate()
        let token = channel.listen { (_: Int) async in
            entered.add()
            await gate.wait()
            ended.add()
        }
        channel.post(1)
        channel.post(2)
        await entered.wait(until: 1)
        async let finished: Void = token.drain()
        await wait(for: token.isActive) { !$0 }
        gate.open()
        await finished
        #expect(ended.value == 2)
    }

    @Test func drainOfAnIdleListenerReturns() async {
        await channel.listen { _ in }.drain()
        await channel.listen(on: queue) { _ in }.drain()
        let token = channel.listen { (_: Int) async in }
        await channel.postAndWait(1)
        await token.drain()
        await token.drain()
        #expect(channel.isEmpty)
    }

    @Test func drainOfAListenerThatCameTooLateReturns() async {
        channel.finish()
        await channel.listen(on: queue) { _ in }.drain()
        let state = StateChannel(0)
        state.finish()
        await state.listen { (_: Int) async in }.drain()
    }

    @Test func aStateIsFinishedThoughOthersGoOnSetting() async {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.listen { value in
            heard.record(value)
            if value == 5 { state.finish() }
            if value < 100 { state.set(value + 1) }
        }
        #expect(heard.all == Array(0...5))
        #expect(!token.isActive && state.value == 6)
        let late = state.listen { heard.record($0) }
        #expect(!late.isActive)
    }

    @Test func nextWithATimeoutListensNoMoreOnceItHasReturned() async throws {
        for number in 0..<200 {
            async let next = channel.first(timeout: .patience)
            await wait(for: channel.listenerCount) { $0 == 1 }
            channel.post(number)
            #expect(try await next == number)
            #expect(channel.isEmpty)
        }
    }

    @Test func drainInsideTheListenerReturns() async {
        let (token, ended) = (Slot<ListenerToken>(), Tally())
        token.value = channel.listen { (_: Int) async in
            await token.value?.drain()
            ended.add()
        }
        channel.post(1)
        await ended.wait(until: 1)
        #expect(token.value?.isActive == false)
    }

    @Test func cancelDuringFinishDiscardsWhatWaits() async {
        queue.suspend()
        let heard = Recorder<Int>()
        let token = channel.listen(on: queue) { heard.record($0) }
        for number in 1...3 { channel.post(number) }
        async let finished: Void = token.drain()
        await wait(for: token.isActive) { !$0 }
        token.cancel()
        queue.resume()
        await finished
        #expect(heard.all == [])
        #expect(token.discardedCount == 3)
    }

    @Test func aChannelThatIsFinishedDeliversWhatWaitsAndEndsItsSequences() async {
        let heard = Recorder<Int>()
        queue.suspend()
        let token = channel.listen(on: queue) { heard.record($0) }
        let messages = channel.messages()
        for number in 1...3 { channel.post(number) }
        channel.finish()
        #expect(channel.post(4) == 0)
        #expect(!token.isActive && channel.isEmpty)
        queue.resume()
        await heard.wait(count: 3)
        #expect(await messages.reduce(into: []) { $0.append($1) } == [1, 2, 3])
        #expect(!channel.listen { _ in }.isActive)
        #expect(await channel.first() == nil)
        channel.finish()
    }

    @Test func drainBesidePostsLosesNothingThatWasCounted() async {
        for _ in 0..<200 {
            let channel = Channel<Int>()
            let (heard, reached) = (Tally(), Tally())
            let tokens = [channel.listen { _ in heard.add() }, channel.listen(on: queue) { _ in heard.add() }]
            await onThreads(3) { thread in
                if thread == 0 { return channel.finish() }
                for number in 0..<50 { reached.add(channel.post(number)) }
            }
            await heard.wait(until: reached.value)
            for token in tokens { await token.drain() }
            #expect(heard.value == reached.value)
        }
    }

    @Test func finishedStateKeepsItsValueAndHasNoListeners() async {
        let state = StateChannel(1)
        let heard = Recorder(of: state)
        let values = state.messages(buffering: .unbounded)
        state.set(2)
        state.finish()
        state.set(3)
        #expect(heard.all == [1, 2] && state.value == 3)
        #expect(await values.reduce(into: []) { $0.append($1) } == [1, 2])
    }

    @Test func aNameIsFreeOnceItsChannelIsFinished() throws {
        let board = Switchboard()
        let held = board.channel("shop.sold" as ChannelName<Int>)
        let token = held.listen { _ in }
        held.finish()
        #expect(!token.isActive)
        let other = try board.channel("shop.sold", of: String.self)
        #expect(other.post("tea") == 0)
    }

    /// Also for what a closure posts as it is freed.
    @Test func aPostByNameDuringItsChannelsEndReachesAPattern() {
        final class LastWords: Sendable {
            let board: Switchboard
            init(_ board: Switchboard) { self.board = board }
            deinit { board["shop.sold" as ChannelName<Int>].post(7) }
        }
        let board = Switchboard()
        let heard = Recorder<Int>()
        let pattern = board[matching: "shop.*"].listen { heard.record($0.message as! Int) }
        let channel = board.channel("shop.sold" as ChannelName<Int>)
        let token = { [words = LastWords(board)] in channel.listen { _ in withExtendedLifetime(words) {} } }()
        channel.finish()
        #expect(heard.all == [7])
        withExtendedLifetime((pattern, token)) {}
    }

    @Test func hasListenersKnowsTheOwnersThatAreListening() {
        let (owner, other) = (Owner(), Owner())
        let state = StateChannel(0)
        let board = Switchboard()
        let local = LocalChannel<Int>()
        #expect(!channel.hasListeners(of: owner))
        let token = channel.listen(owner) { _, _ in }
        state.listen(owner) { _, _ in }
        board[Int.self].listen(owner) { _, _ in }
        local.listen(owner) { _, _ in }
        #expect(channel.hasListeners(of: owner) && state.hasListeners(of: owner))
        #expect(board[Int.self].hasListeners(of: owner) && local.hasListeners(of: owner))
        #expect(!channel.hasListeners(of: other) && !board["shop.none" as ChannelName<Int>].hasListeners(of: owner))
        token.cancel()
        #expect(!channel.hasListeners(of: owner))
    }

    @Test func removeAllListenersKeepsTheChannelInUse() {
        let board = Switchboard()
        let named = board["shop.sold" as ChannelName<Int>]
        let pattern = Recorder(of: board[matching: "shop.*"].map { $0.message as? Int })
        let first = named.listen { _ in }
        let interceptor = named.intercept { _ in .stop }
        named.removeAllListeners()
        #expect(!first.isActive && !interceptor.isActive)
        let heard = Recorder(of: named)
        named.post(7)
        #expect(heard.all == [7])
        #expect(pattern.all == [7])
    }

    @Test func removeAllListenersOfABoardEndsEverything() {
        final class Observer: Watching, Sendable {}
        let board = Switchboard()
        let observer = Observer()
        let tokens = [
            board[Int.self].listen { _ in },
            board[matching: "a.*"].listen { _ in },
            board.state("a.state", initial: 1).listen { _ in },
            board.requests("a.ask" as RequestName<Int, Int>).respond { $0 },
        ]
        board.add(observer, for: (any Watching).self)
        board.removeAllListeners()
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(!board.contains(observer, for: (any Watching).self))
        #expect(board.add(observer, for: (any Watching).self))
    }

    @Test func removeListenersAndWaitWaitsForTheirCalls() async {
        let owner = Owner()
        let (entered, ended, gate) = (Tally(), Tally(), Gate())
        channel.listen(owner) { (_: Owner, _: Int) async in
            entered.add()
            await gate.wait()
            ended.add()
        }
        channel.post(1)
        channel.post(2)
        await entered.wait(until: 1)
        async let removed: Void = channel.removeListenersAndWait(of: owner)
        await wait(for: channel.listenerCount) { $0 == 0 }
        gate.open()
        await removed
        #expect(ended.value == 1)
    }

    /// An actor cannot keep the token of a listener that it registers in its `init`.
    private actor Kitchen {
        private(set) var cooked: [Int] = []
        private let served: Channel<Int>

        init(_ orders: Channel<Int>, serving served: Channel<Int>) {
            self.served = served
            orders.listen(self) { me, order in me.cook(order) }
        }

        private func cook(_ order: Int) {
            cooked.append(order)
            served.post(order)
        }
    }

    /// The parts of a program, in the direction of their messages.
    @Test func drainingTheListenersOfAnOwnerLosesNothingThatWaits() async {
        let (orders, served, paid) = (Channel<Int>(), Channel<Int>(), Recorder<Int>())
        let kitchen = Kitchen(orders, serving: served)
        let till = Owner()
        served.listen(till) { (_: Owner, order: Int) async in paid.record(order) }
        for number in 0..<100 { orders.post(number) }
        await orders.drainListeners(of: kitchen)
        orders.post(100)
        await served.drainListeners(of: till)
        #expect(await kitchen.cooked == Array(0..<100))
        #expect(paid.all == Array(0..<100))
        #expect(orders.isEmpty && served.isEmpty)
    }

    @Test func aChannelOfATypeIsRemovedByItsType() {
        let board = Switchboard()
        let held = board[Int.self].channel
        #expect(board.removeChannel(Int.self))
        #expect(!board.removeChannel(Int.self))
        #expect(board[Int.self].channel !== held)
    }
}

private protocol Watching: AnyObject, Sendable {}

struct CurrentTokenTests {
    private let channel = Channel<Int>()

    @Test func aListenerEndsItselfByTheCurrentToken() {
        let heard = Recorder<Int>()
        let token = channel.listen { number in
            heard.record(number)
            if number == 2 { ListenerToken.current?.cancel() }
        }
        for number in 1...3 { channel.post(number) }
        #expect(heard.all == [1, 2])
        #expect(!token.isActive)
        #expect(ListenerToken.current == nil)
    }

    @Test(arguments: ListenForm.allCases) func theCurrentTokenIsThatOfTheListener(form: ListenForm) async {
        let heard = Recorder<ListenerToken?>()
        let owners = FormOwners()
        let token = form.listen(to: channel, owners) { _ in heard.record(ListenerToken.current) }
        channel.post(1)
        await heard.wait(count: 1)
        #expect(heard.all == [token])
        let set: Set = [token]
        #expect(heard.all[0].map { set.contains($0) } == true)
    }

    @Test func theCurrentTokenOfANestedPostIsTheInnermost() {
        let inner = Channel<Int>()
        let heard = Recorder<ListenerToken?>()
        let innerToken = inner.listen { _ in heard.record(ListenerToken.current) }
        let token = channel.listen { _ in
            inner.post(1)
            heard.record(ListenerToken.current)
        }
        channel.post(1)
        #expect(heard.all == [innerToken, token])
    }

    @Test func theCurrentTokenOfAPostInALaneIsTheInnermost() async {
        let inner = Channel<Int>()
        let heard = Recorder<ListenerToken?>()
        let innerToken = inner.listen { _ in heard.record(ListenerToken.current) }
        let token = channel.listen(on: DispatchQueue(label: "current")) { _ in
            inner.post(1)
            heard.record(ListenerToken.current)
        }
        channel.post(1)
        await heard.wait(count: 2)
        #expect(heard.all == [innerToken, token])
    }

    @Test func theCurrentTokenDoesNotKeepAListener() {
        let kept = Slot<ListenerToken>()
        do {
            let token = channel.listen { _ in kept.value = ListenerToken.current }
            channel.post(1)
            withExtendedLifetime(token) {}
        }
        #expect(kept.value?.isActive == false)
        #expect(channel.isEmpty)
    }
}
