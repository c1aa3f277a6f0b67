import Channels
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct TestingToolsTests {
    /// As the module's page has it.
    @Test func aSaleIsShown() async {
        let sold = Channel<Int>()
        let shown = Recorder<Int>()
        let token = sold.listen { total in shown.record(total) }
        sold.post(12)
        #expect(await shown.first(1) == [12])
        withExtendedLifetime(token) {}
    }

    @Test func aRecorderWaitsForWhatIsRecorded() async {
        let recorder = Recorder<Int>()
        let first = Task { await recorder.first(3) }
        let even = Task { await recorder.wait { $0.contains(4) } }
        for number in 0..<5 { recorder.record(number) }
        #expect(await first.value == [0, 1, 2])
        #expect(await even.value.contains(4))
        #expect(await recorder.wait(count: 3) == [0, 1, 2, 3, 4])
        #expect(recorder.all == [0, 1, 2, 3, 4] && recorder.count == 5)
    }

    @Test func aCancelledTaskDoesNotWaitForARecorder() async {
        let recorder = Recorder<Int>()
        recorder.record(1)
        let task = Task { await recorder.first(2) }
        task.cancel()
        #expect(await task.value == [1])
    }

    @Test func aGateHoldsUntilItIsOpened() async {
        let gate = Gate()
        let passed = Recorder<Int>()
        let task = Task {
            await gate.wait()
            passed.record(1)
        }
        #expect(!gate.isOpen && passed.count == 0)
        gate.open()
        gate.open()
        await task.value
        await gate.wait()
        #expect(gate.isOpen && gate.waitingCount == 0 && passed.count == 1)
    }
}
