import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Rule 14 and the settled details of states, on one thread.
struct StateChannelTests {
    @Test func aNewListenerGetsTheCurrentValueThenEveryLaterOneOnce() {
        let state = StateChannel(0)
        state.set(1)
        let heard = Recorder(of: state)
        #expect(heard.all == [1])
        state.set(2)
        state.update { $0 += 1 }
        #expect(heard.all == [1, 2, 3])
        #expect(state.value == 3)
    }

    @MainActor @Test func aMainActorListenerGetsItsFirstValueBeforeListenReturns() {
        let state = StateChannel(7)
        let heard = Recorder<Int>()
        let token = state.listen { @MainActor value in heard.record(value) }
        #expect(heard.all == [7])
        state.set(8)
        #expect(heard.all == [7, 8])
        withExtendedLifetime(token) {}
    }

    @Test func aListenersSetWaitsUntilAllHaveHeardTheValueBefore() {
        let state = StateChannel(0)
        let heard = Recorder<String>()
        let tokens = (1...2).map { index in
            state.listen { value in
                heard.record("\(value) at \(index)")
                if value == 1, index == 1 {
                    state.set(2)
                    #expect(state.value == 2)
                }
            }
        }
        _ = heard.takeAll()
        state.set(1)
        #expect(heard.all == ["1 at 1", "1 at 2", "2 at 1", "2 at 2"])
        withExtendedLifetime(tokens) {}
    }

    @Test func aListenerAddedDuringADeliveryHearsTheStoredValueOnce() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let added = Slot<ListenerToken>()
        let token = state.listen { value in
            guard value == 1 else { return }
            state.set(2)
            added.value = state.listen { heard.record($0) }
            #expect(heard.all.isEmpty, "its turn comes when everybody has seen this value")
        }
        state.set(1)
        #expect(heard.all == [2])
        state.set(3)
        #expect(heard.all == [2, 3])
        withExtendedLifetime(token) {}
    }

    @Test func aResumedListenerGetsTheCurrentValueFirst() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let token = state.listen { heard.record($0) }
        token.pause()
        state.set(1)
        state.set(2)
        #expect(heard.all == [0] && token.missedCount == 2)
        token.resume()
        #expect(heard.all == [0, 2] && token.missedCount == 2)
        state.set(3)
        #expect(heard.all == [0, 2, 3])
    }

    @Test func aListenerThatResumesItselfHearsTheStoredValueOnce() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let own = Slot<ListenerToken>()
        own.value = state.listen { value in
            heard.record(value)
            guard value == 1 else { return }
            own.value?.pause()
            state.set(2)
            own.value?.resume()
        }
        state.set(1)
        #expect(heard.all == [0, 1, 2])
        own.value?.cancel()
    }

    @Test func aValueDroppedForThatOfAResumeIsNoFault() async {
        let queue = DispatchQueue.suspended()
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let heard = Recorder<Int>()
        let token = state.listen(on: queue, buffering: .newest(1)) { heard.record($0) }
        token.pause()
        state.set(1)
        token.resume()
        #expect(token.droppedCount == 1)
        #expect(faults.all.isEmpty)
        queue.resume()
        #expect(await heard.wait(count: 1) == [1])
        await queue.settle()
        #expect(heard.count == 1)
    }

    @Test func aSetFromItsOwnListenerDeeperThan1024IsRefused() {
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let calls = Tally()
        let token = state.listen { value in
            calls.add()
            if value > 0 { state.set(value + 1) }
        }
        state.set(1)
        #expect(state.value == 1_024)
        #expect(calls.value == 1_025)
        #expect(faults.all.map(\.code) == [.recursionLimit])
        withExtendedLifetime(token) {}
    }

    /// One that is new, or one that resumes.
    @Test(arguments: [false, true])
    func whereAChainOfValuesIsTooLongNewListenersHearTheNext(resumes: Bool) {
        let faults = Recorder<Fault>()
        let state = StateChannel(0) { faults.record($0) }
        let (heard, late) = (Recorder<Int>(), Slot<ListenerToken>())
        if resumes {
            late.value = state.listen { heard.record($0) }
            late.value?.pause()
            _ = heard.takeAll()
        }
        let token = state.listen { value in
            // Each because of the one before.
            if (1..<1_024).contains(value) { state.set(value + 1) }
            guard value == 1_024 else { return }
            let before = faults.count
            if resumes { late.value?.resume() } else { late.value = state.listen { heard.record($0) } }
            #expect(faults.count == before + 1)
        }
        state.set(1)
        #expect(heard.all == [] && faults.all.allSatisfy { $0.code == .recursionLimit })
        if resumes { late.value?.resume() }
        #expect(heard.all == (resumes ? [state.value] : []))
        state.set(0)
        #expect(heard.all.last == 0)
        withExtendedLifetime(token) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: ["value", "set", "update", "listen", "values", "finish", "resume"])
    func usingTheSameStateInsideUpdateTraps(use: String) async {
        await #expect(processExitsWith: .failure) { [use] in
            endIfItHangs()
            let state = StateChannel(0)
            let token = state.listen { _ in }
            token.pause()
            state.update { value in
                switch use {
                case "value": value = state.value
                case "set": state.set(1)
                case "update": state.update { $0 += 1 }
                case "listen": withExtendedLifetime(state.listen { _ in }) {}
                case "values": _ = state.messages()
                case "finish": state.finish()
                default: token.resume()
                }
            }
        }
    }
    #endif

    @Test func anotherStateMayBeUsedInsideUpdateAndAnotherThreadWaits() async {
        let state = StateChannel(0)
        let other = StateChannel(10)
        state.update { value in value = other.value }
        #expect(state.value == 10)
        await onThreads(2) { _ in for _ in 0..<200 { state.update { $0 += 1 } } }
        #expect(state.value == 410)
    }

    @Test func anUpdateThatThrowsRunsOnceAndChangesAndDeliversNothing() {
        let state = StateChannel([1])
        let heard = Recorder(of: state)
        var runs = 0
        #expect(throws: Trouble.self) {
            try state.update { value throws(Trouble) in
                runs += 1
                value.append(2)
                throw Trouble()
            }
        }
        #expect(runs == 1)
        #expect(state.value == [1])
        #expect(heard.all == [[1]])
        state.update { $0.append(3) }
        #expect(heard.all == [[1], [1, 3]])
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func theReplacedValueIsReleasedWithoutTheLock() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let state = Slot<StateChannel<Owner>>()
            let reads = Tally()
            let read: @Sendable () -> Void = {
                withExtendedLifetime(state.value?.value) {}
                reads.add()
            }
            state.value = StateChannel(Owner(atEnd: read))
            let token = state.value!.listen { _ in }
            state.value!.set(Owner(atEnd: read))
            state.value!.set(Owner())
            #expect(reads.value == 2)
            withExtendedLifetime(token) {}
        }
    }
    #endif

    @Test func aListenerResumedTwiceDuringARoundHearsTheValueOnce() {
        let state = StateChannel(0)
        let heard = Recorder<Int>()
        let other = Slot<ListenerToken>()
        let first = state.listen { value in
            guard value == 1, let token = other.value else { return }
            for _ in 0..<2 {
                token.pause()
                token.resume()
            }
        }
        other.value = state.listen { heard.record($0) }
        state.set(1)
        #expect(heard.all == [0, 1])
        withExtendedLifetime(first) {}
    }

    /// A round of a state stands among the posts of its thread like any other post.
    @Test func aPostInAStatesRoundWaitsForThePostOutside() {
        let channel = Channel<Int>(reentrancy: .queued)
        let state = StateChannel(0)
        let heard = Recorder<String>()
        let tokens = [
            channel.listen { number in
                heard.record("first \(number)")
                if number == 1 { state.set(1) }
            },
            channel.listen { heard.record("second \($0)") },
            state.listen { if $0 == 1 { channel.post(2) } },
        ]
        channel.post(1)
        #expect(heard.all == ["first 1", "second 1", "first 2", "second 2"])
        withExtendedLifetime(tokens) {}
    }

    /// One that resumes hears nothing that was set before, as if it had just been registered, and is no new one.
    @Test func aListenerThatResumesWhileItsOwnersAreRemovedIsRemovedToo() {
        let queue = DispatchQueue.suspended()
        let owner = Owner()
        let resumed = Slot<ListenerToken>()
        let state = StateChannel(Owner { resumed.value?.resume() })
        // The value waits, and goes when the listener does.
        let first = state.listen(owner, on: queue) { _, _ in }
        let second = state.listen(owner) { _, _ in }
        second.pause()
        resumed.value = second
        state.set(Owner())
        state.removeListeners(of: owner)
        #expect(!second.isPaused)
        #expect(!first.isActive && !second.isActive)
        queue.resume()
    }
}
