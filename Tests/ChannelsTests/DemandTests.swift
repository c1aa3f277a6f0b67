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

    /// Nobody posts: each new channel looks at two others, and forgets those that have gone.
    @Test func anOwnersEndIsNoticedWhileOtherChannelsComeAndGo() {
        let told = Tally()
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
                others.append(Channel(name: nil) {})
                others[(number * 7) % others.count] = nil
            }
            #expect(told.value == channels.count * 2 * (round + 1))
        }
    }
}
