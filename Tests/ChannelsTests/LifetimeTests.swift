import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rules 5 and 15: owners and channels that go.
struct LifetimeTests {
    @Test func aGoneOwnerIsNotCalledAndItsEntryIsFreed() {
        let channel = Channel<Int>()
        let living = Tally()
        let heard = Recorder<Int>()
        var owner: Owner? = Owner()
        let token = channel.listen(owner!) { [witness = Witness(living)] _, message in
            heard.record(message)
            withExtendedLifetime(witness) {}
        }
        #expect(channel.post(1) == 1)
        owner = nil
        #expect(!token.isActive)
        #expect(channel.post(2) == 0)
        #expect(heard.all == [1])
        #expect(living.value == 0, "freed although the token is held")
        #expect(channel.isEmpty)
        withExtendedLifetime((token, owner)) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// The search for owners that have gone must not take what it counts in one round for more and more,
    /// whoever comes and goes at the end. In a process of its own: a thread of another test that looks here delays what
    /// is freed.
    @Test func memoryStaysBoundedAfterListenersHaveComeAndGone() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let living = Tally()
            let staying = (0..<47).map { _ in Owner() }
            for owner in staying { channel.listen(owner) { _, _ in } }
            let token = channel.listen { _ in }
            for extra in 0..<4 {
                for _ in 0..<3_000 { channel.listen { _ in }.cancel() }
                let tokens = (0..<extra).map { _ in channel.listen { _ in } }
                for _ in 0..<3_000 { channel.listen { _ in }.cancel() }
                withExtendedLifetime(tokens) {}
            }
            for _ in 0..<2_000 {
                channel.listen(Owner()) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
            }
            #expect(living.value < 150)
            withExtendedLifetime((staying, token)) {}
        }
    }

    /// A look holds the owner for a moment, so another thread could run the deinit of an owner on the main actor. There
    /// are more threads than groups of them.
    @Test func ownersAreLookedForByTheThreadThatRegisteredThem() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let (channel, living, registered) = (Channel<Int>(), Tally(), Tally())
            await onThreads(1) { _ in
                do {
                    let owner = Owner()
                    channel.listen(owner) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
                }
                let ended = DispatchSemaphore(value: 0)
                for _ in 0..<130 {
                    let other = Thread {
                        let (own, owner) = (Channel<Int>(), Owner())
                        for _ in 0..<200 { own.listen(owner) { _, _ in } }
                        registered.add()
                        // So that none has the record of another.
                        registered.spin(until: 130)
                        ended.signal()
                    }
                    other.start()
                }
                for _ in 0..<130 { ended.wait() }
                #expect(living.value == 1)
                let (own, owner) = (Channel<Int>(), Owner())
                for _ in 0..<200 { own.listen(owner) { _, _ in } }
                #expect(living.value == 0)
            }
        }
    }

    /// In a process of its own, without the listeners of other tests among which owners are looked for.
    @Test func memoryStaysBoundedOnASwitchboardOfNamesNobodyPostsTo() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let board = Switchboard()
            let living = Tally()
            let staying = Owner()
            for number in 0..<200 {
                board[try ChannelName<Int>(validating: "stays.\(number)")].listen(staying) { _, _ in }
            }
            for number in 0..<5_000 {
                let name = try ChannelName<Int>(validating: "gone.\(number)")
                board[name].listen(Owner()) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
            }
            #expect(living.value < 500)
            #expect(board.snapshot().channels.count < 700)
            withExtendedLifetime(staying) {}
        }
    }

    /// In a process of its own, without the listeners of other tests among which owners are looked for.
    @Test func memoryStaysBoundedWhoeversOwnerGoesWhenNobodyPosts() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let local = LocalChannel<Int>()
            let state = StateChannel(0)
            let requests = RequestChannel<Int, Int>()
            let board = Switchboard()
            let kinds = ["plain", "local", "interceptor", "queue", "state", "responder", "pattern", "named", "typed"]
            let living = kinds.map { _ in Tally() }
            let staying = Owner()
            channel.listen(staying) { _, _ in }
            for _ in 0..<2_000 {
                let owner = Owner()
                let all = living.map { Witness($0) }
                channel.listen(owner) { [one = all[0]] _, _ in withExtendedLifetime(one) {} }
                local.listen(owner) { [one = all[1]] _, _ in withExtendedLifetime(one) {} }
                channel.intercept(owner) { [one = all[2]] _, _ in withExtendedLifetime(one) { .continue } }
                channel.listen(owner, on: .global()) { [one = all[3]] _, _ in withExtendedLifetime(one) {} }
                state.listen(owner) { [one = all[4]] _, _ in withExtendedLifetime(one) {} }
                requests.respond(owner) { [one = all[5]] _, number in withExtendedLifetime(one) { number } }
                board[matching: "a.*"].listen(owner) { [one = all[6]] _, _ in withExtendedLifetime(one) {} }
                board["a.b"].listen(owner) { [one = all[7]] (_, _: Int) in withExtendedLifetime(one) {} }
                board[Int.self].listen(owner) { [one = all[8]] _, _ in withExtendedLifetime(one) {} }
            }
            for (kind, living) in zip(kinds, living) { #expect(living.value < 100, "\(kind)") }
            #expect(channel.listenerCount == 1)
            #expect(living[0].value == 0 && living[3].value == 0)
            withExtendedLifetime(staying) {}
        }
    }
    #endif

    /// Also where calls are counted, and where the listener is called on its actor at once or has its turn there.
    @MainActor @Test(arguments: [Switchboard.Diagnostics.off, .counts])
    func anEntryWhoseOwnerHasGoneIsFreedHoweverItIsCalled(diagnostics: Switchboard.Diagnostics) {
        let board = Switchboard(diagnostics: diagnostics)
        let channel = board.channel("gone.channel" as ChannelName<Int>)
        let state = board.state("gone.state" as StateName<Int>, initial: 0)
        let heard = Recorder(of: channel)
        let living = Tally()
        do {
            let owner = Owner()
            listenWithoutIsolation(to: channel, state, owner, living)
            channel.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
            state.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
        }
        #expect(channel.post(1) == 1 && heard.all == [1])
        state.set(1)
        #expect(living.value == 0)
    }

    private func listenWithoutIsolation(
        to channel: Channel<Int>,
        _ state: StateChannel<Int>,
        _ owner: Owner,
        _ living: Tally
    ) {
        channel.intercept(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) { .stop } }
        channel.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
        channel.listen(owner, once: true) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
        state.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
    }

    enum Call: CaseIterable { case ofAChannel, ofAPattern, onTheMainActor }

    @MainActor @Test(arguments: Call.allCases, [Switchboard.Diagnostics.off, .counts])
    func duringACallTheOwnerIsHeld(_ call: Call, _ diagnostics: Switchboard.Diagnostics) {
        let board = Switchboard(diagnostics: diagnostics)
        let channel = board.channel("held.channel" as ChannelName<Int>)
        let events = Recorder<String>()
        let owner = Slot(Owner { events.record("gone") })
        listen(to: channel, board, call, owner.value!) {
            owner.value = nil
            events.record("called")
        }
        #expect(channel.post(1) == 1)
        #expect(events.all == ["called", "gone"])
        #expect(channel.post(2) == 0)
    }

    /// Closures written here have no isolation unless they say so.
    private func listen(
        to channel: Channel<Int>,
        _ board: Switchboard,
        _ call: Call,
        _ owner: Owner,
        _ body: @escaping @Sendable () -> Void
    ) {
        switch call {
        case .ofAChannel: channel.listen(owner) { _, _ in body() }
        case .ofAPattern: board[matching: "held.*"].listen(owner) { _, _ in body() }
        case .onTheMainActor: channel.listen(owner) { @MainActor _, _ in body() }
        }
    }

    @Test func anOwnerReleasedByAnEarlierListenerIsNotCalled() {
        let channel = Channel<Int>()
        let heard = Recorder<String>()
        let owner = Slot(Owner { heard.record("gone") })
        let first = channel.listen { _ in owner.value = nil }
        channel.listen(owner.value!) { _, _ in heard.record("called") }
        let last = channel.listen { _ in heard.record("last") }
        #expect(channel.post(1) == 2)
        #expect(heard.all == ["gone", "last"])
        withExtendedLifetime((first, last)) {}
    }

    /// The owner dies at the very time at which it is called: its deinit runs on either thread, and posts.
    @Test func anOwnerWhoseDeinitCancelsAndPostsMayDieDuringAPost() async {
        let channel = Channel<Int>()
        let goodbyes = Tally()
        let log = channel.listen { message in if message == -1 { goodbyes.add() } }
        for _ in 0..<300 {
            let own = Slot<ListenerToken>()
            let owner = Slot(
                Owner {
                    own.value?.cancel()
                    channel.post(-1)
                }
            )
            own.value = channel.listen(owner.value!) { _, _ in }
            await onThreads(2) { index in
                if index == 0 { owner.value = nil } else { channel.post(1) }
            }
        }
        #expect(goodbyes.value == 300)
        #expect(channel.listenerCount == 1)
        withExtendedLifetime(log) {}
    }

    @Test func listenersMayBeRegisteredAndCancelledFromADeinit() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let kept = Recorder<ListenerToken>()
        let other = Owner()
        let victim = channel.listen { _ in heard.record(-1) }
        let dying = Slot(
            Owner {
                victim.cancel()
                kept.record(channel.listen { heard.record($0) })
                kept.record(channel.listen(other) { _, message in heard.record(message * 10) })
            }
        )
        channel.listen(dying.value!) { _, _ in dying.value = nil }
        channel.post(1)
        #expect(channel.post(2) == 2)
        #expect(heard.all == [-1, 2, 20])
        withExtendedLifetime((other, kept)) {}
    }

    @Test func registeringAnOwnerFromItsOwnDeinitGivesAnInactiveToken() {
        final class Late: Sendable {
            let channel: Channel<Int>
            let kept: Recorder<ListenerToken>
            init(_ channel: Channel<Int>, _ kept: Recorder<ListenerToken>) {
                self.channel = channel
                self.kept = kept
            }
            deinit {
                kept.record(channel.listen(self) { _, _ in Issue.record("called") })
                kept.record(channel.listen(self, on: .global()) { _, _ in Issue.record("called") })
                kept.record(channel.intercept(self) { _, _ in .stop })
            }
        }
        let channel = Channel<Int>()
        let kept = Recorder<ListenerToken>()
        _ = Late(channel, kept)
        #expect(kept.count == 3)
        #expect(kept.all.allSatisfy { !$0.isActive })
        #expect(channel.post(1) == 0)
        #expect(channel.isEmpty)
        for token in kept.all { token.cancel() }
    }

    @Test func aChannelDeallocatedDuringAPostFinishesItThenTokensAreInactive() {
        let channel = Slot(Channel<Int>())
        weak let watched = channel.value
        let heard = Recorder<Int>()
        let tokens = Slot<[ListenerToken]>()
        tokens.value = (0..<3).map { index in
            channel.value!.listen { _ in
                heard.record(index)
                channel.value = nil
            }
        }
        postOnce(channel)
        #expect(heard.all == [0, 1, 2])
        #expect(watched == nil)
        #expect(tokens.value?.allSatisfy { !$0.isActive } == true)
        for token in tokens.value ?? [] {
            token.cancel()
            token.pause()
            token.resume()
        }
    }

    /// A function of its own, so that no reference of the caller keeps the channel.
    private func postOnce(_ channel: Slot<Channel<Int>>) { channel.value?.post(1) }

    @Test func channelsMayDieWhileOtherThreadsCancelTheirTokens() async {
        let living = Tally()
        for _ in 0..<200 {
            let channel = Slot(channelThatKeeps(Witness(living)))
            let tokens = (0..<20).map { _ in
                let witness = Witness(living)
                return channel.value!.listen { _ in withExtendedLifetime(witness) {} }
            }
            await onThreads(3) { index in
                switch index {
                case 0: channel.value = nil
                case 1: for token in tokens { token.cancel() }
                default: channel.value?.post(1)
                }
            }
            #expect(tokens.allSatisfy { !$0.isActive })
            // Whichever thread comes last frees them, after it has told this one that it has ended. Tokens keep
            // what the channel does.
            await living.wait(untilAtMost: 1)
            withExtendedLifetime(tokens) {}
        }
        await living.wait(untilAtMost: 0)
    }

    private func channelThatKeeps(_ witness: Witness) -> Channel<Int> {
        Channel { _ in withExtendedLifetime(witness) {} }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// On a thread with as little stack as secondary threads have on Apple's systems.
    @Test func noSingleChangePaysForManyListenersWhoseOwnerHasGone() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let living = Tally()
            let channel = Channel<Int>()
            var owner: Owner? = Owner()
            for _ in 0..<20_000 {
                let witness = Witness(living)
                channel.listen(owner!) { _, _ in withExtendedLifetime(witness) {} }
            }
            owner = nil
            await onThreads(1, stackSize: 512 << 10) { _ in for _ in 0..<8 { channel.listen { _ in }.cancel() } }
            #expect(living.value >= 20_000 - 64, "\(living.value)")
        }
    }
    #endif

    @Test func aListenerThatCapturesItsChannelIsFreedByCancel() {
        weak var watched: Channel<Int>?
        do {
            let channel = Channel<Int>()
            watched = channel
            let token = channel.listen { _ in channel.post(1) }
            #expect(watched != nil)
            token.cancel()
        }
        #expect(watched == nil)
    }
}
