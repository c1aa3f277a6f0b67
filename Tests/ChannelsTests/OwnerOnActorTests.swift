import Channels
import ChannelsTesting
import Testing

/// Rules 5 and 15 where a listener is called on its actor, which is another way than on any thread.
@MainActor struct OwnerOnActorTests {
    /// Also where calls are counted, and where the listener is called on its actor at once or has its turn there.
    @Test(arguments: [false, true])
    func anEntryWhoseOwnerHasGoneIsFreedAtTheNextPostHoweverItIsCalled(isCounted: Bool) {
        let board = Switchboard(diagnostics: isCounted ? .counts : .off)
        let channel = board.channel("gone.channel" as ChannelName<Int>)
        let state = board.state("gone.state" as StateName<Int>, initial: 0)
        let living = Tally()
        do {
            let owner = Owner()
            channel.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
            channel.listen(owner) { @MainActor [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
            channel.listen(owner, once: true) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
            state.listen(owner) { [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
            state.listen(owner) { @MainActor [one = Witness(living)] _, _ in withExtendedLifetime(one) {} }
        }
        #expect(channel.post(1) == 0)
        state.set(1)
        #expect(living.value == 0)
    }

    @Test(arguments: [false, true])
    func duringACallOnItsActorTheOwnerIsHeld(isCounted: Bool) {
        let channel = Channel<Int>(diagnostics: isCounted ? .counts : .off)
        let (gone, seen) = (Tally(), Recorder<Int>())
        let owner = Slot<Owner>()
        owner.value = Owner { gone.add() }
        channel.listen(owner.value!) { @MainActor _, _ in
            owner.value = nil
            seen.record(gone.value)
        }
        #expect(channel.post(1) == 1)
        #expect(seen.all == [0] && gone.value == 1)
    }
}
