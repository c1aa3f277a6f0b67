import Channels
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct WithSwitchboardTests {
    private let sold = ChannelName<Sale>("shop.sold")

    private struct Trouble: Error, Equatable {}

    /// Is told after the switchboard's handler.
    private struct FaultRecord: ChannelInstrument {
        let faults: Recorder<Fault>
        func report(_ fault: Fault) { faults.record(fault) }
    }

    @Test func aTestThatLeavesNothingPasses() async throws {
        try await withSwitchboard { board in
            let kitchen = Kitchen(board[sold])
            await board[sold].postAndWait(Sale(total: 12))
            #expect(await kitchen.cooked == [12])
        }
    }

    @MainActor
    @Test func theBodyRunsInTheCallersIsolation() async throws {
        var heard = 0
        try await withSwitchboard { board in
            let owner = Owner()
            board[sold].listen(owner) { _, sale in heard += sale.total }
            board[sold].post(Sale(total: 3))
            #expect(heard == 3)
        }
    }

    @Test func aFaultFailsTheTestAndIsNamed() async {
        let failed = await failure {
            try await withSwitchboard { board in
                let token = board[sold].listen { _ in throw Trouble() }
                board[sold].post(Sale(total: 1))
                board[sold].post(Sale(total: 2))
                withExtendedLifetime(token) {}
            }
        }
        #expect(failed?.code == .faults && failed?.details.count == 2)
        #expect(failed?.site.fileID == #fileID)
        #expect(
            failed?.description.contains(": 2 faults were raised:\n  [0] listenerThrew on channel shop.sold") == true
        )
        #expect(failed?.description.contains("WithSwitchboardTests.swift:") == true)
        #expect(failed?.description.contains("Trouble()") == true)
    }

    @Test func listenersThatOutliveTheTestFailItWithTheirSites() async {
        let kept = Owner()
        let tokens = Recorder<ListenerToken>()
        let line = #line + 3
        let failed = await failure {
            try await withSwitchboard(settlingTimeout: .zero) { board in
                board[sold].listen(kept) { _, _ in }
                tokens.record(board[sold].listen { _ in })
                tokens.record(board[matching: "shop.>"].listen { _ in })
                board.state(StateName<Int>("shop.stock"), initial: 0).listen(kept) { _, _ in }
            }
        }
        #expect(failed?.code == .listenersLeft && failed?.details.count == 4)
        #expect(failed?.description.contains("4 listeners outlived the test") == true)
        #expect(
            failed?.details.contains(
                "shop.sold: Owner, direct, priority normal, ChannelsTestingTests/WithSwitchboardTests.swift:\(line)"
            ) == true
        )
        #expect(failed?.details.contains { $0.hasPrefix("shop.>: token") } == true)
        withExtendedLifetime(kept) {}
    }

    @Test func anObserverThatOutlivesTheTestFailsIt() async {
        let kept = Bell()
        let failed = await failure {
            try await withSwitchboard(settlingTimeout: .zero) { board in board.add(kept, for: (any Sounding).self) }
        }
        #expect(failed?.details.count == 1 && failed?.details.first?.contains("Bell") == true)
        withExtendedLifetime(kept) {}
    }

    @Test func aListenerThatGoesSoonAfterTheTestIsNoFailure() async throws {
        let gate = Gate()
        let ended = Recorder<Void>()
        try await withSwitchboard(settlingTimeout: generous) { board in
            let owner = Owner()
            board[sold].listen(owner) { _, _ in }
            Task {
                await gate.wait()
                withExtendedLifetime(owner) {}
                ended.record(())
            }
            Task { gate.open() }
        }
        #expect(await ended.wait(count: 1).count == 1)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aFaultAfterTheTestIsWrittenToStandardError() async throws {
        let ended = try await #require(
            processExitsWith: .success,
            observing: [\.standardErrorContent]
        ) {
            let (gate, faults) = (Gate(), Recorder<Fault>())
            var instrument: InstrumentToken?
            try await withSwitchboard { board in
                instrument = board.addInstrument(FaultRecord(faults: faults))
                let token = board[Int.self].listen { _ in
                    await gate.wait()
                    throw Trouble()
                }
                board[Int.self].post(1)
                await wait(for: gate.waitingCount) { $0 != 0 }
                token.cancel()
            }
            gate.open()
            await faults.wait(count: 1)
            withExtendedLifetime(instrument) {}
        }
        let text = String(decoding: ended.standardErrorContent, as: UTF8.self)
        #expect(text.contains("listenerThrew on channel"))
    }
    #endif

    @Test func whatTheBodyThrowsIsThrownOn() async {
        await #expect(throws: Trouble.self) { try await withSwitchboard { _ in throw Trouble() } }
    }

    @Test func aTestThatThrowsBecauseOfAFaultNamesBoth() async {
        let failed = await failure {
            try await withSwitchboard { board in
                let heard = Recorder<Int>()
                let token = board[sold].listen { sale in
                    if sale.total == 1 { throw Trouble() }
                    heard.record(sale.total)
                }
                board[sold].post(Sale(total: 1))
                _ = try await heard.next(1, timeout: .zero)
                withExtendedLifetime(token) {}
            }
        }
        #expect(failed?.code == .faults && failed?.underlyingError is TestFailure)
        #expect(failed?.description.contains("the test ended with") == true)
        #expect(failed?.description.contains("listenerThrew") == true)
    }
}

private protocol Sounding: AnyObject, Sendable {}

private final class Bell: Sounding {}
