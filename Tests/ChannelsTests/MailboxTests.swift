import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rule 7: who runs before `post` returns, and in which order the others do.
struct MailboxTests {
    @Test func synchronousListenersRunOnThePostersThreadBeforePostReturns() async {
        let channel = Channel<Int>()
        let threads = Recorder<ObjectIdentifier>()
        let token = channel.listen { _ in threads.record(ObjectIdentifier(Thread.current)) }
        await onThreads(1) { _ in
            channel.post(1)
            #expect(threads.all == [ObjectIdentifier(Thread.current)])
        }
        withExtendedLifetime(token) {}
    }

    @Test func aMailboxIsFirstInFirstOutPerPoster() async {
        let channel = Channel<(poster: Int, number: Int)>()
        let onActor = Recorder<(poster: Int, number: Int)>()
        let onQueue = Recorder<(poster: Int, number: Int)>()
        let asynchronous = Recorder<(poster: Int, number: Int)>()
        let clerk = Clerk()
        channel.listen(clerk) { (_: isolated Clerk, message) in onActor.record(message) }
        let tokens = [
            channel.listen(on: .global()) { onQueue.record($0) },
            channel.listen { (message: (poster: Int, number: Int)) async in asynchronous.record(message) },
        ]
        await onThreads(4) { poster in for number in 0..<500 { #expect(channel.post((poster, number)) == 3) } }
        await channel.postAndWait((-1, 0))
        for heard in [onActor, onQueue, asynchronous] {
            #expect(heard.count == 2_001)
            for poster in 0..<4 {
                #expect(heard.all.filter { $0.poster == poster }.map(\.number) == Array(0..<500))
            }
        }
        withExtendedLifetime((tokens, clerk)) {}
    }

    @Test func aMailboxRunsOneCallAtATimeOnAConcurrentQueue() async {
        let channel = Channel<Int>()
        let running = Tally()
        let overlaps = Tally()
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let check: @Sendable () -> Void = {
            if running.add() != 0 { overlaps.add() }
            running.add(-1)
        }
        let token = channel.listen(on: queue) { _ in check() }
        await onThreads(4) { _ in for message in 0..<300 { channel.post(message) } }
        await channel.postAndWait(0)
        #expect(overlaps.value == 0)
        #expect(token.deliveredCount == 1_201)
    }

    @Test func aListenerThatPostsWhileItsMailboxDrainsEnqueuesBehindItself() async {
        let channel = Channel<Int>()
        let events = Recorder<String>()
        let gate = Gate()
        let token = channel.listen { @MainActor message in
            events.record("\(message) begins")
            if message == 1 { channel.post(3) }
            events.record("\(message) ends")
            if message == 3 { gate.open() }
        }
        await MainActor.run {
            postFromElsewhere(1, on: channel)
            postFromElsewhere(2, on: channel)
        }
        await gate.wait()
        #expect(events.all == [1, 2, 3].flatMap { ["\($0) begins", "\($0) ends"] })
        withExtendedLifetime(token) {}
    }

    @Test func aListenerOnAQueueNeverRunsBeforeAPostThereReturns() async {
        let queue = DispatchQueue(label: "serial")
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen(on: queue) { heard.record($0) }
        queue.async {
            #expect(channel.post(1) == 1)
            #expect(heard.count == 0)
        }
        await queue.settle()
        await channel.postAndWait(2)
        #expect(heard.all == [1, 2])
        withExtendedLifetime(token) {}
    }

    /// Also where the turn ended by time: a mailbox in which nothing waits is free.
    @MainActor @Test func afterASlowCallTheActorsPostIsHeardAtOnce() async {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { message in
            let start = ContinuousClock.now
            while message == 1, .now - start < .milliseconds(3) {}
            heard.record(message)
        }
        postFromElsewhere(1, on: channel)
        _ = await heard.first(1)
        channel.post(2)
        #expect(heard.all == [1, 2])
        withExtendedLifetime(token) {}
    }

    @Test func aMessageThatWaitsKeepsItsSenderAndNoOther() async {
        let channel = Channel<Int>()
        let queue = DispatchQueue.suspended()
        let sender = Owner()
        let heard = Recorder<Bool>()
        let token = channel.posts.listen(on: queue) { heard.record($0.sender === sender) }
        for isFromSender in [false, true, false] {
            if isFromSender { channel.post(1, from: sender) } else { channel.post(1) }
        }
        queue.resume()
        #expect(await heard.wait(count: 3) == [false, true, false])
        withExtendedLifetime(token) {}
    }

    // MARK: Owners that have gone

    /// Rule 5: nothing waits for an owner that has gone, although nobody runs on its queue who would notice.
    @Test func whatWaitsForAGoneOwnerIsDiscardedThoughItsQueueStands() async {
        let living = Tally()
        let queue = DispatchQueue.suspended()
        let channel = Channel<Witness>()
        var owner: Owner? = Owner()
        let token = channel.listen(owner!, on: queue) { _, _ in }
        channel.post(Witness(living))
        owner = nil
        for _ in 0..<5_000 { channel.post(Witness(living)) }
        await wait(for: living.value) { $0 == 0 }
        #expect(token.discardedCount > 1 && token.waitingCount == 0 && !token.isActive)
        #expect(channel.post(Witness(living)) == 0 && living.value == 0)
        queue.resume()
    }

    /// Whoever posts may find that the owner has gone: where something travels with the message, each looks.
    @Test func whoWaitsForAGoneOwnerIsToldThoughItsQueueStands() async {
        let queue = DispatchQueue.suspended()
        let channel = Channel<Int>()
        var owner: Owner? = Owner()
        let token = channel.listen(owner!, on: queue) { _, _ in }
        let waiting = Task { await channel.postAndWait(1) }
        await wait(for: token.waitingCount) { $0 > 0 }
        owner = nil
        token.pause()
        channel.post(2)
        let report = await waiting.value
        #expect(report.discardedCount == 1 && token.discardedCount == 1)
        queue.resume()
    }

    @Test func ownersThatGoWhileTheirQueueStandsLeaveNoMessagesBehind() {
        let living = Tally()
        let queue = DispatchQueue.suspended()
        let channel = Channel<Witness>()
        for _ in 0..<2_000 {
            let owner = Owner()
            channel.listen(owner, on: queue) { _, _ in }
            channel.post(Witness(living))
        }
        #expect(living.value < 500)
        #expect(channel.listenerCount == 0 && living.value == 0)
        queue.resume()
    }
}
