import ChannelsTesting
import Testing

@testable import Channels

/// Channels that feed on something else while somebody listens.
struct DemandTests {
    @Test func itsMakerIsToldOfEachListenerThatComesAndGoes() {
        let told = Tally()
        let channel = Channel<Int>(name: nil) { told.add() }
        let token = channel.listen { _ in }
        #expect(told.value == 1 && channel.hasListeners)
        token.cancel()
        #expect(told.value == 2 && !channel.hasListeners)
    }

    /// Nobody posts: each listener pays for looks at those of other channels.
    @Test func anOwnersEndIsNoticedWhileOtherChannelsComeAndGo() {
        let told = Tally()
        let staying = Owner()
        let channels = (0..<20).map { _ in Channel<Int>(name: nil) { told.add() } }
        for round in 0..<50 {
            do {
                let owners = channels.map { _ in Owner() }
                for (channel, owner) in zip(channels, owners) { channel.listen(owner) { _, _ in } }
                withExtendedLifetime(owners) {}
            }
            #expect(told.value == channels.count * (2 * round + 1))
            // Some stay for a while, so that there are gaps among those looked at.
            var others: [Channel<Int>?] = []
            for number in 0..<100_000 where told.value < channels.count * 2 * (round + 1) {
                let other = Channel<Int>()
                other.listen(staying) { _, _ in }
                others.append(other)
                others[(number * 7) % others.count] = nil
            }
            #expect(told.value == channels.count * 2 * (round + 1))
        }
        withExtendedLifetime(staying) {}
    }

    @Test func onDemandHearsOfTheFirstListenerAndTheLast() {
        let told = Recorder<Bool>()
        let channel = Channel<Int>(onDemand: { told.record($0) })
        let tokens = (0..<3).map { _ in channel.listen { _ in } }
        #expect(told.all == [true])
        for token in tokens { token.cancel() }
        #expect(told.all == [true, false])
        let again = channel.listen(once: true) { _ in }
        channel.post(1)
        #expect(told.all == [true, false, true, false] && !again.isActive)
    }

    @Test func onDemandHearsThatTheChannelIsGoneOrFinished() {
        let told = Recorder<Bool>()
        do {
            let channel = Channel<Int>(onDemand: { told.record($0) })
            channel.listen(told) { _, _ in }
        }
        #expect(told.all == [true, false])
        let channel = Channel<Int>(onDemand: { told.record($0) })
        channel.listen(told) { _, _ in }
        channel.finish()
        #expect(told.all == [true, false, true, false])
    }

    @Test func onDemandMayUseTheChannel() {
        let (told, heard) = (Recorder<Bool>(), Recorder<Int>())
        let channel = Slot<Channel<Int>>()
        channel.value = Channel<Int>(onDemand: { isHeard in
            told.record(isHeard)
            channel.value?.post(told.all.count)
            if isHeard { channel.value?.listen { _ in }.cancel() }
        })
        channel.value?.listen { heard.record($0) }.cancel()
        #expect(told.all == [true, false])
        #expect(heard.all == [1])
        channel.value = nil
    }

    @Test func aStateOnDemandHandsOutItsValue() {
        let (told, heard) = (Recorder<Bool>(), Recorder<Int>())
        let state = StateChannel(1, onDemand: { told.record($0) })
        let token = state.listen { heard.record($0) }
        token.pause()
        state.set(2)
        token.resume()
        token.cancel()
        #expect(told.all == [true, false])
        #expect(heard.all == [1, 2])
    }

    /// Whatever the threads do: true and false in turn, one call at a time, and the last says what is so.
    @Test func onDemandIsToldInTurnThoughListenersRace() async {
        for _ in 0..<50 {
            let (told, calling) = (Recorder<Bool>(), Tally())
            let channel = Channel<Int>(onDemand: { isHeard in
                #expect(calling.add() == 0)
                told.record(isHeard)
                calling.add(-1)
            })
            await onThreads(4) { _ in for _ in 0..<200 { channel.listen { _ in }.cancel() } }
            let all = told.all
            #expect(all.first == true && all.last == false)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
        }
    }
}
