import Channels
import ChannelsTesting
import Testing

private final class Hearer: Sendable {
    let heard = Recorder<Int>()
}

/// A token is one object from the registration to its last use, whatever becomes of the listener, and of the
/// channel and the owner.
struct TokenTests {
    /// As somebody does who shows one track after another.
    @Test func aListenerThatIsStoredInPlaceOfAnotherEndsThatAlsoIfItHasAnOwner() {
        let (tracks, hearer) = ([Channel<Int>(), Channel<Int>()], Hearer())
        var ticking: ListenerToken?
        for track in tracks {
            track.listen(hearer) { me, tick in me.heard.record(tick) }.store(replacing: &ticking)
            #expect(ticking?.isActive == true)
        }
        #expect(tracks[0].post(1) == 0 && tracks[1].post(2) == 1)
        ticking?.store(replacing: &ticking)
        #expect(tracks[1].post(3) == 1)
        // To overwrite the token is not enough.
        ticking = tracks[0].listen(hearer) { me, tick in me.heard.record(tick) }
        #expect(tracks[1].post(4) == 1)
        #expect(hearer.heard.all == [2, 3, 4])
    }

    @Test(arguments: [true, false])
    func aTokenOutlivesItsChannelAndItsOwner(isOwned: Bool) async {
        var channel: Channel<Int>? = Channel()
        var owner: Hearer? = Hearer()
        weak let witness = owner
        let token: ListenerToken? =
            if isOwned, let owner {
                channel?.listen(owner) { me, number in me.heard.record(number) }
            } else {
                channel?.listen { _ in }
            }
        #expect(channel?.post(1) == 1)
        #expect(token?.isActive == true)
        owner = nil
        #expect(witness == nil)
        #expect(token?.isActive == !isOwned)
        channel = nil
        #expect(token?.isActive == false)
        token?.pause()
        #expect(token?.isPaused == true)
        token?.resume()
        #expect(token?.isPaused == false)
        token?.cancel()
        await token?.cancelAndWait()
        #expect(token?.isActive == false)
        #expect(token?.missedCount == 0)
        #expect(token?.deliveredCount == 0)
        #expect(token?.description.hasSuffix("(inactive)") == true)
    }

    @Test(arguments: [true, false])
    func pausingAListenerThatHasEndedDoesNotBringItBack(isOwned: Bool) {
        let channel = Channel<Int>()
        let owner = Hearer()
        let heard = owner.heard
        let token =
            isOwned
            ? channel.listen(owner, once: true) { me, number in me.heard.record(number) }
            : channel.listen(once: true) { heard.record($0) }
        #expect(channel.post(1) == 1)
        token.pause()
        #expect(channel.post(2) == 0)
        token.resume()
        #expect(channel.post(3) == 0)
        #expect(heard.all == [1])
        #expect(token.missedCount == 0)
        withExtendedLifetime(owner) {}
    }

    @Test func theTokenOfAnOwnedListenerMayGoDuringACall() {
        let channel = Channel<Int>()
        let owner = Hearer()
        let slot = Slot<ListenerToken>()
        slot.value = channel.listen(owner) { me, number in
            slot.value = nil
            me.heard.record(number)
        }
        #expect(channel.post(1) == 1)
        #expect(channel.post(2) == 1)
        #expect(owner.heard.all == [1, 2])
    }
}
