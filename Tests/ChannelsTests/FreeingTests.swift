import ChannelsTesting
import Dispatch
import Foundation
import Testing

@testable import Channels

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

    @Test func theDeinitOfAFreedClosureRunsInNoListenerOfThePost() {
        let faults = Recorder<CallSite?>()
        let channel = Channel<Int>(reentrancy: .nested(limit: 1)) { faults.record($0.registrationSite) }
        let outer = Channel<Int>()
        let current = Recorder<ListenerToken?>()
        let (first, second) = (Slot<ListenerToken>(), Slot<ListenerToken>())
        let kept = channel.listen { _ in }
        let calling = outer.listen { _ in
            second.value = channel.listen {
                [
                    atEnd = Owner {
                        current.record(.current)
                        channel.post(2)
                    }
                ] _ in withExtendedLifetime(atEnd) {}
            }
            first.value = channel.listen { _ in (first.value, second.value) = (nil, nil) }
            channel.post(1)
        }
        outer.post(0)
        #expect(current.all == [calling], "the listener that posts is still being called")
        #expect(faults.all.count == 1 && faults.all[0] == nil, "the post in the deinit is too deep")
        withExtendedLifetime((kept, calling)) {}
    }

    @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
    @Test func theDeinitOfAClosureThatADrainFreesRunsInNoListener() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        let current = Recorder<ListenerToken?>()
        let (own, waiting) = (Slot<ListenerToken>(), Slot<Task<Void, Never>>())
        let other = channel.listen(on: queue) { _ in }
        own.value = channel.listen(on: queue, priority: .high) { [atEnd = Owner { current.record(.current) }] _ in
            withExtendedLifetime(atEnd) {}
            let token = own.value
            own.value = nil
            // An immediate task runs until it waits, here for this call.
            waiting.value = Task.immediateDetached { await token?.cancelAndWait() }
        }
        channel.post(1)
        queue.resume()
        await current.wait { !$0.isEmpty }
        await waiting.value?.value
        #expect(current.all == [nil])
        withExtendedLifetime(other) {}
    }

    /// Loading a weak reference on another thread may run the deinit of an observer that is not Sendable there.
    @Test func onlyWhoUsesAChannelOfAProtocolLooksForItsOrphans() {
        let (observed, other) = (ProtocolChannel<any Unsendable>(), Channel<Int>())
        for _ in 0..<100 {
            observed.add(Ended())
            other.listen(Owner()) { _, _ in }
        }
        #expect(observed.list.sweeper == nil && other.list.sweeper != nil)
        #expect(observed.list.listenerCountNow < 50, "but additions to it keep it small")
    }

    @Test func endlessPostingDoesNotKeepACancelledListenersClosure() async {
        let channel = Channel<Int>()
        let living = Tally()
        await whilePosting(on: channel, threads: 3) {
            for _ in 0..<500 {
                let token = channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
                token.cancel()
            }
            await wait(for: living.value) { $0 == 0 }
        }
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

private protocol Unsendable: AnyObject {}

private final class Ended: Unsendable {}
