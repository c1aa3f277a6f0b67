#if Observability
import Channels
import ChannelsBridge
import InMemoryLogging
import Logging
import Testing

@testable import ChannelsObservability

@Suite(.hangLimit)
struct FaultLogTests {
    let handler = InMemoryLogHandler()
    let clock = Clock()

    private func log(most: Int = 3) -> FaultLog {
        let handler = handler
        let clock = clock
        let logger = Logger(label: "faults") { _ in handler }
        return FaultLog(logger, most: most, every: .seconds(1), now: { clock.now })
    }

    private func fault(_ channel: String = "shop.sold", count: Int = 1) -> Fault {
        Fault(code: .listenerThrew, channelName: channel, count: count, underlyingError: Broken())
    }

    @Test func aFaultIsOneLineWithWhatItConcerns() throws {
        let board = Switchboard(onFault: { _ in })
        let token = board.addInstrument(log())
        let listener = board[.sold].listen { (_: Sale) throws in throw Broken() }
        board[.sold].post(Sale(total: 1))
        let entry = try #require(handler.entries.first)
        #expect(handler.entries.count == 1)
        #expect(entry.level == .warning)
        // What the metadata has is not in the text as well.
        #expect(entry.message == "listenerThrew on shop.sold")
        #expect(entry.metadata["channel"] == "shop.sold")
        #expect(entry.metadata["code"] == "listenerThrew")
        #expect(entry.metadata["error"] == "Broken()")
        #expect(entry.metadata["site"]?.description.contains("FaultLogTests.swift") == true)
        withExtendedLifetime((token, listener)) {}
    }

    @Test func aPlaceIsWrittenOnceInAnInterval() {
        let log = log()
        for count in 1...10 { log.report(fault(count: count)) }
        #expect(handler.entries.count == 1)
        clock.advance(by: .seconds(1))
        log.report(fault(count: 11))
        #expect(handler.entries.map { $0.metadata["count"] } == ["1", "11"])
        #expect(handler.entries.map { $0.metadata["suppressed"] } == [nil, "9"])
    }

    @Test func eachKindOfErrorOfABridgeIsWritten() {
        let log = log()
        for code in [BridgeError.Code.bufferFull, .notConnected, .bufferFull] {
            log.report(Fault(code: .bridgeFailed, channelName: "shop.sold", underlyingError: BridgeError(code)))
        }
        #expect(handler.entries.count == 2)
    }

    @Test func anIntervalHasLimitedLinesHoweverManyPlacesThereAre() {
        let log = log(most: 3)
        for number in 0..<100 { log.report(fault("channel.\(number)")) }
        #expect(handler.entries.count == 3)
        clock.advance(by: .seconds(1))
        log.report(fault("channel.0"))
        #expect(handler.entries.last?.metadata["suppressed"] == "97")
    }
}

/// A clock that stands still.
final class Clock: Sendable {
    private let time = Locked(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
#endif
