import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// What tasks of a bridge wait for.
@Suite(.hangLimit)
struct WaitingTests {
    @Test func bellThatRangBeforeIsHeardOnce() async throws {
        let (bell, clock) = (Bell(), ManualClock())
        bell.ring()
        bell.ring()
        await bell.wait()
        let waiting = Task { try await withTimeLimit(.seconds(1), clock: clock) { await bell.wait() } }
        _ = await clock.sleeps.first(1)
        clock.advance(by: .seconds(1))
        try await waiting.value
    }

    @Test func bellWakesWhoeverWaitsAndTheTimeDoesNotMatterThen() async throws {
        let (bell, clock) = (Bell(), ManualClock())
        let waiting = Task { try await withTimeLimit(.seconds(1), clock: clock) { await bell.wait() } }
        _ = await clock.sleeps.first(1)
        bell.ring()
        try await waiting.value
        let cancelled = Task { await bell.wait() }
        cancelled.cancel()
        await cancelled.value
    }

    @Test func withoutTimeOnlyAResultThatIsThereIsReturned() async throws {
        let clock = ManualClock()
        for time in [Duration.zero, .seconds(-1)] {
            let (there, missing) = (FirstResult<Int>(), FirstResult<Int>())
            there.finish(.success(1))
            #expect(try await there.value(timeout: time, clock: clock, else: BridgeError(.timedOut)) == 1)
            await #expect(throws: BridgeError.self) {
                try await missing.value(timeout: time, clock: clock, else: BridgeError(.timedOut))
            }
        }
    }

    @Test func latchResumesEveryTaskThatWaitsAndIsOpenFromThenOn() async throws {
        let (latch, clock) = (Latch(), ManualClock())
        let waiting = (0..<8).map { _ in Task { try await latch.wait() } }
        let timed = Task { await latch.wait(atMost: .seconds(1), clock: clock) }
        let late = Task { await latch.wait(atMost: .seconds(1), clock: clock) }
        _ = await clock.sleeps.first(2)
        #expect(!latch.isOpen)
        latch.open()
        latch.open()
        for task in waiting { try await task.value }
        let (isOpen, isOpenLate) = (await timed.value, await late.value)
        #expect(isOpen && isOpenLate && latch.isOpen)
        try await latch.wait()
    }

    @Test func latchThatStaysClosedIsLeftByTimeoutOrCancellation() async throws {
        let (latch, clock) = (Latch(), ManualClock())
        let timed = Task { await latch.wait(atMost: .seconds(1), clock: clock) }
        _ = await clock.sleeps.first(1)
        clock.advance(by: .seconds(1))
        #expect(await timed.value == false)
        let cancelled = (0..<4).map { _ in Task { try await latch.wait() } }
        for task in cancelled { task.cancel() }
        for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(!latch.isOpen)
    }
}
