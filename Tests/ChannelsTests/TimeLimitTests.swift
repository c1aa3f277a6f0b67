import Channels
import ChannelsTesting
import Testing

/// Limits of time from one end to the other.
@Suite(.hangLimit)
struct TimeLimitTests {
    static let over: [Duration] = [.zero, .nanoseconds(-1), .seconds(-1), .seconds(Int64.min)]
    static let long: [Duration] = [.seconds(3_600), .nanoseconds(Int64.max), .seconds(1 << 40), .seconds(Int64.max)]

    @Test(arguments: over)
    func askingWithoutTimeThrowsAtOnceAndAsksNobody(time: Duration) async {
        let requests = RequestChannel<Int, Int>()
        let asked = Tally()
        let token = requests.respond { request in
            asked.add()
            return request
        }
        for _ in 0..<50 {
            let error = await #expect(throws: ChannelError.self) { try await requests.ask(1, timeout: time) }
            #expect(error?.code == .timedOut)
        }
        #expect(asked.value == 0)
        withExtendedLifetime(token) {}
    }

    @Test(arguments: over)
    func waitingWithoutTimeThrowsAtOnce(time: Duration) async {
        let (channel, state, recorder) = (Channel<Int>(), StateChannel(0), Recorder<Int>())
        await #expect(throws: ChannelError.self) { try await channel.first(timeout: time) }
        await #expect(throws: ChannelError.self) { try await state.first(timeout: time) }
        await #expect(throws: TestFailure.self) { try await recorder.next(timeout: time) }
    }

    @Test(arguments: long)
    func aLimitMayBeLongerThanAnyClockCanExpress(time: Duration) async throws {
        let (state, recorder, requests) = (StateChannel(0), Recorder<Int>(), RequestChannel<Int, Int>())
        let token = requests.respond { request in
            await Task.yield()
            return request
        }
        #expect(try await requests.ask(1, timeout: time) == 1)
        async let two = state.first(timeout: time) { $0 == 2 }
        async let recorded = recorder.next(timeout: time)
        await wait(for: state.listenerCount) { $0 == 1 }
        state.set(2)
        recorder.record(3)
        #expect(try await two == 2)
        #expect(try await recorded == 3)
        try await withSwitchboard(settlingTimeout: time) { _ in }
        withExtendedLifetime(token) {}
    }

    @Test func aNanosecondIsOverSoon() async {
        let requests = RequestChannel<Int, Int>()
        let gate = Gate()
        let token = requests.respond { request in
            await gate.wait()
            return request
        }
        await #expect(throws: ChannelError.self) { try await requests.ask(1, timeout: .nanoseconds(1)) }
        let channel = Channel<Int>()
        await #expect(throws: ChannelError.self) { try await channel.first(timeout: .nanoseconds(1)) }
        gate.open()
        withExtendedLifetime((token, channel)) {}
    }

    @Test func aLimitInNanosecondsHas64Bits() {
        #expect(Duration.seconds(3).limitInNanoseconds == 3_000_000_000)
        #expect(Duration.nanoseconds(1).limitInNanoseconds == 1)
        #expect(Duration.seconds(-1).limitInNanoseconds == 0)
        #expect(Duration.seconds(Int64.max).limitInNanoseconds == 1_000_000_000_000_000_000)
    }
}
