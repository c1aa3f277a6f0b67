import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rule 14, under races: no gap, no repeat, in order, and the last value seen is the one stored.
struct StateChannelRaceTests {
    /// What a listener may see: every value from its first to the last one stored.
    private func check(_ seen: [Int], last: Int, _ what: Comment) {
        #expect(!seen.isEmpty, what)
        guard let first = seen.first else { return }
        #expect(seen == Array(first...max(first, last)), what)
    }

    @Test func aNewListenerSeesNoGapNorRepeatWhateverRacesWithIt() async {
        for _ in 0..<300 {
            let state = StateChannel(0)
            let plain = Recorder<Int>()
            let owned = Recorder<Int>()
            let onQueue = Recorder<Int>()
            let owner = Owner()
            let queue = DispatchQueue(label: "listener")
            let tokens = Recorder<ListenerToken>()
            await onThreads(3) { index in
                switch index {
                case 0: for _ in 0..<20 { state.update { $0 += 1 } }
                case 1: tokens.record(state.listen { plain.record($0) })
                default:
                    state.listen(owner) { _, value in owned.record(value) }
                    tokens.record(state.listen(on: queue) { onQueue.record($0) })
                }
            }
            await onQueue.wait { $0.last == 20 }
            check(plain.all, last: 20, "plain")
            check(owned.all, last: 20, "owned")
            check(onQueue.all, last: 20, "on a queue")
            withExtendedLifetime((owner, tokens)) {}
        }
    }

    /// A job delivers, because those who set more are inside listeners, and nobody has the state any more.
    @Test func whatWaitsIsHeardWhereTheStateGoesWhileAJobDelivers() async {
        let last = 5_000
        for _ in 0..<20 {
            let heard = Recorder<Int>()
            let (inside, gate, isDone) = (Tally(), Tally(), Tally())
            func listen() async -> ListenerToken {
                let state = StateChannel(0)
                let token = state.listen { value in
                    if value == 1 {
                        inside.add()
                        gate.spin(until: 1)
                    }
                    heard.record(value)
                }
                Thread.detachNewThread {
                    state.set(1)
                    isDone.add()
                }
                await inside.wait(until: 1)
                let cause = Channel<Void>()
                let causing = cause.listen { for value in 2...last { state.set(value) } }
                cause.post()
                causing.cancel()
                return token
            }
            let token = await listen()
            gate.add()
            await isDone.wait(until: 1)
            await wait(for: token.isActive) { !$0 }
            #expect(heard.all == Array(0...last))
        }
    }

    /// A thread that uses the library for the first time may get the record of one that was inside `update` a
    /// moment ago and has ended.
    @Test func aNewThreadIsNotTakenForOneThatWasInsideUpdate() async {
        let state = StateChannel(0)
        for _ in 0..<300 {
            await onThreads(12) { index in
                if index % 3 == 0 {
                    state.update { value in
                        sched_yield()
                        value += 1
                    }
                } else {
                    _ = state.value
                }
            }
        }
        #expect(state.value == 1_200)
    }

    @Test func theLastValueHeardIsTheOneStoredWhenTwoThreadsSet() async {
        for _ in 0..<200 {
            let state = StateChannel(0)
            let heard = Recorder(of: state)
            await onThreads(2) { index in for number in 1...10 { state.set(index * 100 + number) } }
            #expect(heard.count == 21)
            #expect(heard.all.last == state.value)
        }
    }

    @Test func onceOnAStateIsCalledExactlyOnceWhileAnotherThreadDelivers() async {
        for _ in 0..<300 {
            let state = StateChannel(0)
            let stays = state.listen { _ in }
            let heard = (0..<3).map { _ in Recorder<Int>() }
            let tokens = Recorder<ListenerToken>()
            let owner = Owner()
            await onThreads(3) { index in
                switch index {
                case 0: for _ in 0..<20 { state.update { $0 += 1 } }
                case 1: tokens.record(state.listen(once: true) { heard[0].record($0) })
                default:
                    tokens.record(state.posts.listen(owner, once: true) { _, post in heard[1].record(post.message) })
                    tokens.record(state.listen(once: true) { (value: Int) async in heard[2].record(value) })
                }
            }
            _ = await heard[2].first(1)
            state.set(-1)
            for token in tokens.all {
                #expect(!token.isActive)
                await token.cancelAndWait()
            }
            for heard in heard { #expect(heard.count == 1 && (0...20).contains(heard.all[0]), "\(heard.all)") }
            #expect(state.listenerCount == 1)
            withExtendedLifetime((stays, owner)) {}
        }
    }

    /// A value that was being delivered when the listener was resumed must not come after the one it got
    /// then.
    @Test func versionsIncreaseForAListenerThatIsPausedAndResumedDuringSets() async {
        for _ in 0..<100 {
            let state = StateChannel(0)
            let heard = Recorder<Int>()
            let token = state.listen { heard.record($0) }
            await onThreads(3) { index in
                guard index == 0 else {
                    for _ in 0..<150 { state.update { $0 += 1 } }
                    return
                }
                for _ in 0..<150 {
                    token.pause()
                    token.resume()
                }
            }
            // A job may still deliver the last ones.
            await wait(for: heard.all.last) { $0 == 300 }
            let seen = heard.all
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 <= $1 })
            withExtendedLifetime(token) {}
        }
    }

    /// They cannot wait, so nothing bounds what they set but what they hear.
    @Test func valuesThatListenersSetAreReportedWhereTooManyWait() async {
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let causes = Channel<Int>()
        let heard = Tally()
        let gate = DispatchSemaphore(value: 0)
        let tokens = [
            state.listen { (value: Int) in
                heard.add()
                if value == 1 { gate.wait() }
            },
            causes.listen { count in for value in 2...count { state.set(value) } },
        ]
        await onThreads(2) { index in
            if index == 0 {
                state.set(1)
            } else {
                heard.spin(until: 2)
                causes.post(5_000)
                gate.signal()
            }
        }
        await heard.wait(until: 5_001)
        // 2,048 and 4,096.
        #expect(faults.all.map(\.code) == [.stateBacklog, .stateBacklog])
        withExtendedLifetime(tokens) {}
    }

    @Test func valuesThatItsOwnListenerSetsAreReportedToo() {
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let token = state.listen { (value: Int) in
            if value == 1 { for value in 2...5_000 { state.set(value) } }
        }
        state.set(1)
        #expect(faults.all.map(\.code) == [.stateBacklog, .stateBacklog])
        withExtendedLifetime(token) {}
    }
}
