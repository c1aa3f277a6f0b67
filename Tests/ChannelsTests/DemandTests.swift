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
        let channel = Channel<Int>(onDemand: { _ in told.recordUntilStopped() })
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
            let channel = Channel<Int>(onDemand: { _ in told.recordUntilStopped() })
            channel.listen(told) { _, _ in }
        }
        #expect(told.all == [true, false])
        let channel = Channel<Int>(onDemand: { _ in told.recordUntilStopped() })
        channel.listen(told) { _, _ in }
        channel.finish()
        #expect(told.all == [true, false, true, false])
    }

    @Test func onDemandIsHandedTheChannelAndMayUseIt() {
        let (told, heard) = (Recorder<Bool>(), Recorder<Int>())
        let channel = Channel<Int>(onDemand: { channel in
            channel.post(1)
            channel.listen { _ in }.cancel()
            let stop = told.recordUntilStopped()
            return {
                stop()
                channel.post(2)
            }
        })
        let token = channel.listen { heard.record($0) }
        #expect(told.all == [true] && heard.all == [1])
        token.cancel()
        #expect(told.all == [true, false] && heard.all == [1])
    }

    @Test func aSourceThatKeepsItsChannelKeepsItWhileItIsHeard() {
        let source = Slot<Channel<Int>>()
        var channel: Channel<Int>? = Channel(onDemand: { channel in
            source.value = channel
            return { source.value = nil }
        })
        weak let gone = channel
        let token = channel?.listen { _ in }
        channel = nil
        #expect(gone != nil)
        token?.cancel()
        #expect(gone == nil)
    }

    @Test func aPausedListenerIsNoDemand() {
        let told = Recorder<Bool>()
        let channel = Channel<Int>(onDemand: { _ in told.recordUntilStopped() })
        let interceptor = channel.intercept { _ in .continue }
        let tokens = (0..<2).map { _ in channel.listen { _ in } }
        tokens[0].pause()
        #expect(told.all == [true])
        tokens[1].pause()
        tokens[1].pause()
        #expect(told.all == [true, false])
        tokens[0].resume()
        #expect(told.all == [true, false, true])
        tokens[0].cancel()
        #expect(told.all == [true, false, true, false])
        tokens[1].cancel()
        tokens[1].resume()
        #expect(told.all == [true, false, true, false])
        withExtendedLifetime(interceptor) {}
    }

    /// What starts the source hands its product to what stops it, and each is stopped once.
    @Test func eachSourceIsStoppedOnce() async {
        let (started, stopped) = (Tally(), Recorder<Int>())
        let channel = Channel<Int>(onDemand: { _ in
            let number = started.add()
            return { stopped.record(number) }
        })
        await onThreads(4) { thread in
            for _ in 0..<200 {
                let token = channel.listen { _ in }
                if thread % 2 == 0 {
                    token.pause()
                    token.resume()
                }
                token.cancel()
            }
        }
        #expect(stopped.all == Array(0..<started.value))
    }

    @Test func aStateOnDemandHandsOutItsValue() {
        let (told, heard) = (Recorder<Bool>(), Recorder<Int>())
        let state = StateChannel(1, onDemand: { _ in told.recordUntilStopped() })
        let token = state.listen { heard.record($0) }
        token.pause()
        state.set(2)
        token.resume()
        token.cancel()
        #expect(told.all == [true, false, true, false])
        #expect(heard.all == [1, 2])
    }

    /// Whatever the threads do: true and false in turn, one call at a time, and the last says what is so.
    @Test func onDemandIsToldInTurnThoughListenersRace() async {
        for _ in 0..<50 {
            let (told, calling) = (Recorder<Bool>(), Tally())
            let channel = Channel<Int>(onDemand: { _ in
                #expect(calling.add() == 0)
                told.record(true)
                calling.add(-1)
                return {
                    #expect(calling.add() == 0)
                    told.record(false)
                    calling.add(-1)
                }
            })
            await onThreads(4) { _ in for _ in 0..<200 { channel.listen { _ in }.cancel() } }
            let all = told.all
            #expect(all.first == true && all.last == false)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
        }
    }
}

extension Recorder<Bool> {
    /// Records that a source was started, and returns what records that it was stopped.
    fileprivate func recordUntilStopped() -> @Sendable () -> Void {
        record(true)
        return { self.record(false) }
    }
}
