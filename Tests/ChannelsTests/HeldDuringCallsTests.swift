import Channels
import ChannelsTesting
import Testing

/// What is kept alive while a listener is called, whatever the listener does.
struct HeldDuringCallsTests {
    @Test func theOwnerOfAListenerByPattern() {
        let board = Switchboard()
        let (gone, seen) = (Tally(), Recorder<Int>())
        let owner = Slot<Owner>()
        owner.value = Owner { gone.add() }
        board[matching: "held.*"].listen(owner.value!) { _, _ in
            owner.value = nil
            seen.record(gone.value)
        }
        let channel = board.channel("held.channel" as ChannelName<Int>)
        #expect(channel.post(1) == 1)
        #expect(seen.all == [0] && gone.value == 1)
    }

    @Test func theOwnerOfAListenerOfAnOwnChannel() {
        let channel = Channel<Int>()
        let (gone, seen) = (Tally(), Recorder<Int>())
        let owner = Slot<Owner>()
        owner.value = Owner { gone.add() }
        channel.listen(owner.value!) { _, _ in
            owner.value = nil
            seen.record(gone.value)
        }
        #expect(channel.post(1) == 1)
        #expect(seen.all == [0] && gone.value == 1)
    }

    /// The first listener sets another value, so that the state no longer keeps the one that is being delivered.
    @Test func theValueOfAStateThatAListenerSetsAgain() {
        let living = Tally()
        let state = StateChannel(Witness(living, 0))
        let heard = Recorder<[Int]>()
        let tokens = [
            state.listen { value in if value.number == 1 { state.set(Witness(living, 2)) } },
            state.listen { value in heard.record([value.number, living.value]) },
        ]
        for _ in 0..<100 {
            state.set(Witness(living, 1))
            state.set(Witness(living, 0))
        }
        #expect(heard.all.map { $0[0] } == [0] + (0..<100).flatMap { _ in [1, 2, 0] })
        #expect(living.value == 1)
        withExtendedLifetime(tokens) {}
    }

    /// With a listener in a lane the value is offered to that first.
    @MainActor @Test func theValueOfAStateThatAListenerOnItsActorSetsAgain() {
        let living = Tally()
        let state = StateChannel(Witness(living, 0))
        let heard = Recorder<Int>()
        let tokens = [
            state.listen { @MainActor value in if value.number == 1 { state.set(Witness(living, 2)) } },
            state.listen { @MainActor value in heard.record(value.number) },
        ]
        for _ in 0..<100 {
            state.set(Witness(living, 1))
            state.set(Witness(living, 0))
        }
        #expect(heard.all == [0] + (0..<100).flatMap { _ in [1, 2, 0] })
        #expect(living.value == 1)
        withExtendedLifetime(tokens) {}
    }
}
