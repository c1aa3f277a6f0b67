import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Testing

/// The bounds of rule 9: in depth, in the length of a chain of changes, and by what is left of the stack.
struct RecursionTests {
    @Test func aListenerMayPostHundredsOfThousandsOfMessagesBecauseOfOne() async {
        let (causes, effects) = (Channel<Int>(), Channel<Int>())
        let heard = Tally()
        let tokens = [
            causes.listen { count in for number in 0..<count { effects.post(number) } },
            effects.listen { _ in heard.add() },
        ]
        await onThreads(1) { _ in causes.post(300_000) }
        #expect(heard.value == 300_000)
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: [Reentrancy.nested(limit: 10_000), .queued])
    func aNestedPostIsRefusedWhereLittleOfTheStackIsLeft(_ reentrancy: Reentrancy) async {
        let faults = Recorder<Fault>()
        let (reached, refused) = (Tally(), Tally())
        await onThreads(1, stackSize: 256 << 10) { _ in
            let ring = (0..<1_100).map { _ in Channel<Int>(reentrancy: reentrancy) { faults.record($0) } }
            let tokens = ring.indices.map { index in
                ring[index].listen { number in
                    reached.add()
                    if ring[(index + 1) % ring.count].post(number) == 0 { refused.add() }
                }
            }
            ring[0].post(0)
            withExtendedLifetime(tokens) {}
        }
        #expect(faults.all.map(\.code) == [.recursionLimit] && reached.value > 8 && refused.value == 1)
        #expect(faults.all.first?.detail?.contains("stack") == true)
    }

    @Test func aStateIsNotSetWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let reached = Tally()
        await onThreads(1, stackSize: 256 << 10) { _ in
            let ring = (0..<1_100).map { StateChannel<Int>(-$0) { faults.record($0) } }
            let tokens = ring.indices.map { index in
                ring[index].listen { number in
                    guard number > 0 else { return }
                    reached.add()
                    ring[(index + 1) % ring.count].set(number)
                }
            }
            ring[0].set(1)
            withExtendedLifetime(tokens) {}
        }
        #expect(faults.all.map(\.code) == [.recursionLimit] && reached.value > 8)
        #expect(faults.all.first?.detail?.contains("stack") == true)
    }

    /// Each waits on its own channel for the post before it, and is made deeper in the stack.
    @Test func queuedPostsOnARingOfChannelsEndWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let heard = Tally()
        await onThreads(1, stackSize: 256 << 10) { _ in
            let channels = (0..<1_500).map { _ in Channel<Int>(reentrancy: .queued) { faults.record($0) } }
            let tokens = channels.indices.map { index in
                channels[index].listen { [next = index + 1 < channels.count ? channels[index + 1] : nil] message in
                    heard.add()
                    if message == 0 { channels[index].post(1) } else { next?.post(0) }
                }
            }
            channels[0].post(0)
            for token in tokens { token.cancel() }
        }
        #expect(faults.all.map(\.code) == [.recursionLimit] && heard.value > 8)
        #expect(faults.all.first?.detail?.contains("stack") == true)
    }

    /// No channel has more than one post.
    @Test(arguments: [Switchboard.Diagnostics.off, .counts])
    func aPatternListenerHearsPostsNestedOnManyChannels(diagnostics: Switchboard.Diagnostics) async {
        let board = Switchboard(diagnostics: diagnostics)
        let heard = Tally()
        let token = board[matching: "deep.*"].listen { post throws in
            heard.add()
            guard let number = post.message as? Int, number < 200 else { return }
            try board.channel("deep.\(number)", of: Int.self).post(number + 1)
        }
        await onThreads(1) { _ in board[ChannelName<Int>("deep.first")].post(0) }
        #expect(heard.value == 201)
        withExtendedLifetime(token) {}
    }

    /// The one that is refused hears the next value.
    @Test func aFirstCallIsRefusedWhereLittleOfTheStackIsLeft() async {
        let faults = Recorder<Fault>()
        let heard = Recorder<Int>()
        let states = (0..<1_100).map { _ in StateChannel<Int>(0) { faults.record($0) } }
        let owner = Owner()
        @Sendable func listen(to index: Int) {
            states[index].listen(owner) { _, number in
                heard.record(index)
                if number == 0 { listen(to: index + 1) }
            }
        }
        await onThreads(1, stackSize: 256 << 10) { _ in listen(to: 0) }
        #expect(faults.all.map(\.code) == [.recursionLimit] && faults.all.first?.detail?.contains("stack") == true)
        let reached = heard.all.count
        #expect(reached > 8 && heard.all == Array(0..<reached))
        states[reached].set(1)
        #expect(heard.all.last == reached)
        // Each closure keeps the owner.
        for state in states { state.removeListeners(of: owner) }
    }

    @Test func firstCallsInFirstCallsEndWithAFault1024Deep() async {
        let faults = Recorder<Fault>()
        let heard = Tally()
        await onThreads(1) { _ in
            let states = (0..<1_100).map { _ in StateChannel<Int>(0) { faults.record($0) } }
            let owner = Owner()
            @Sendable func listen(to index: Int) {
                states[index].listen(owner) { _, _ in
                    heard.add()
                    listen(to: index + 1)
                }
            }
            listen(to: 0)
            // Each closure keeps the owner.
            for state in states { state.removeListeners(of: owner) }
        }
        #expect(faults.all.map(\.detail) == ["limit 1024"] && heard.value == 1_024)
    }

    @Test func aStateListenerThatRegistersItselfAgainEndsWithTheFault() {
        let faults = Recorder<Fault>()
        let heard = Tally()
        let state = StateChannel<Int>(0) { faults.record($0) }
        let owner = Owner()
        @Sendable func listen() {
            state.listen(owner, once: true) { _, _ in
                heard.add()
                listen()
            }
        }
        listen()
        #expect(faults.all.map(\.detail) == ["limit 1024"] && heard.value == 1_024)
        // The closure keeps the owner.
        state.removeListeners(of: owner)
    }

    /// Many are no chain.
    @Test func aFirstCallMayRegisterThousandsOfListeners() {
        let faults = Recorder<Fault>()
        let heard = Tally()
        let state = StateChannel<Int>(0) { faults.record($0) }
        let owner = Owner()
        let token = state.listen { _ in
            for _ in 0..<5_000 { state.listen(owner) { _, _ in heard.add() } }
        }
        #expect(heard.value == 5_000 && faults.all.isEmpty)
        withExtendedLifetime((token, owner)) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aRingOfStatesOfOneOwnerIsBoundedToo() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let faults = Recorder<Fault>()
            let states = (0..<2_000).map { StateChannel($0) { faults.record($0) } }
            let owner = Owner()
            let calls = Tally()
            for index in states.indices {
                states[index].listen(owner) { _, value in
                    guard value < 0 else { return }
                    calls.add()
                    states[(index + 1) % states.count].set(value - 1)
                }
            }
            await onThreads(1) { _ in states[0].set(-1) }
            #expect(calls.value > 500 && calls.value <= 1_024, "\(calls.value)")
            #expect(faults.all.map(\.code) == [.recursionLimit])
            // The closures hold the channels.
            for state in states { state.removeListeners(of: owner) }
        }
    }

    @Test func aRingOfStatesThatAreResumedIsBoundedToo() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let faults = Recorder<Fault>()
            let states = (0..<2_000).map { StateChannel($0) { faults.record($0) } }
            let tokens = Slot<[ListenerToken]>([])
            let isReady = Slot(false)
            tokens.value = states.indices.map { index in
                states[index].listen { _ in
                    if isReady.value == true { tokens.value![(index + 1) % states.count].resume() }
                }
            }
            for token in tokens.value! { token.pause() }
            isReady.value = true
            await onThreads(1) { _ in tokens.value![0].resume() }
            #expect(faults.all.map(\.code) == [.recursionLimit])
            tokens.value = []
        }
    }
    #endif
}
