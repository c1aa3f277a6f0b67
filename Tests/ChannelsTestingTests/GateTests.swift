import Channels
import ChannelsTesting
import TestSupport
import Testing

@Suite(.hangLimit)
struct GateTests {
    @Test func aTestLearnsThatAListenerIsInTheMiddleOfItsCall() async {
        let (gate, channel, ended) = (Gate(), Channel<Int>(), Recorder<Int>())
        let token = channel.listen { message in
            await gate.wait()
            ended.record(message)
        }
        let reached = Task { await gate.waitUntilReached() }
        channel.post(1)
        await reached.value
        #expect(gate.waitingCount == 1 && ended.count == 0)
        gate.open()
        #expect(await ended.wait(count: 1) == [1])
        // It stays reached.
        await gate.waitUntilReached()
        withExtendedLifetime(token) {}
    }

    @Test func aWaitThatMayBeCancelledThrows() async throws {
        let gate = Gate()
        let waiting = Task { try await gate.waitUnlessCancelled() }
        await gate.waitUntilReached()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(gate.waitingCount == 0)
        let tooLate = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await gate.waitUnlessCancelled()
        }
        await #expect(throws: CancellationError.self) { try await tooLate.value }
        gate.open()
        try await gate.waitUnlessCancelled()
    }

    @Test func aWaitThatMayNotBeCancelledGoesOn() async {
        let (gate, passed) = (Gate(), Recorder<Bool>())
        let waiting = Task {
            await gate.wait()
            passed.record(Task.isCancelled)
        }
        await gate.waitUntilReached()
        waiting.cancel()
        #expect(gate.waitingCount == 1 && passed.count == 0)
        gate.open()
        await waiting.value
        #expect(passed.all == [true])
    }

    @Test func cancellingAndOpeningAtTheSameTimeResumesOnce() async {
        for _ in 0..<200 {
            let gate = Gate()
            let waiting = (0..<4).map { _ in Task { try? await gate.waitUnlessCancelled() } }
            async let opened: Void = Task.detached { gate.open() }.value
            for task in waiting { task.cancel() }
            await opened
            for task in waiting { await task.value }
            #expect(gate.waitingCount == 0)
        }
    }
}
