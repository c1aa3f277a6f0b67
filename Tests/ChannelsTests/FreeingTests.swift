import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rule 5: a cancelled listener is freed when the posts that may reach it have ended.
struct FreeingTests {
    @Test func aListenerCancelledDuringAPostIsFreedWhenItHasEnded() {
        let channel = Channel<Int>()
        let living = Tally()
        let own = Slot<ListenerToken>()
        own.value = channel.listen { [witness = Witness(living)] _ in
            own.value?.cancel()
            #expect(living.value == 1, "its closure runs")
            withExtendedLifetime(witness) {}
        }
        channel.post(1)
        #expect(living.value == 0)
        #expect(own.value?.isActive == false)
    }

    @Test func aListenerCancelledDuringAnotherThreadsPostIsFreedAtItsEnd() async {
        let channel = Channel<Int>()
        let living = Tally()
        let entered = Tally()
        let release = DispatchSemaphore(value: 0)
        let blocking = channel.listen { _ in
            entered.add()
            release.wait()
        }
        let token = channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
        async let posting: Void = onThreads(1) { _ in channel.post(1) }
        await entered.wait(until: 1)
        token.cancel()
        release.signal()
        await posting
        #expect(living.value == 0)
        withExtendedLifetime((blocking, token)) {}
    }

    @Test func endlessPostingDoesNotKeepACancelledListenersClosure() async {
        let channel = Channel<Int>()
        let isOver = Tally()
        let living = Tally()
        async let posting: Void = onThreads(3) { _ in while isOver.value == 0 { channel.post(1) } }
        for _ in 0..<500 {
            let token = channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
            token.cancel()
        }
        await wait(for: living.value) { $0 == 0 }
        isOver.add()
        await posting
    }

    @Test(arguments: [false, true])
    func aMailboxsClosureIsFreedAfterCancelThoughTheTokenIsHeld(isAsync: Bool) async {
        let channel = Channel<Int>()
        let living = Tally()
        let tokens = (0..<2).map { [witness = Witness(living)] _ in
            isAsync
                ? channel.listen { (_: Int) async in withExtendedLifetime(witness) {} }
                : channel.listen(on: .global()) { _ in withExtendedLifetime(witness) {} }
        }
        tokens[0].cancel()
        #expect(living.value == 1, "the other's")
        await channel.postAndWait(1)
        tokens[1].cancel()
        // The drain lets go of what it holds shortly after its last call.
        await living.wait(untilAtMost: 0)
        withExtendedLifetime(tokens) {}
    }
}
