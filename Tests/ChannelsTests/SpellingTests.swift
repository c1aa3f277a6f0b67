import Channels
import ChannelsDiagnostics
import Testing

/// Rule 13: `café` with a composed and with a decomposed last letter is two names, which a `String` takes for one.
struct SpellingTests {
    private let names = ["caf\u{E9}", "cafe\u{301}"].map { ChannelName<Int>(stringLiteral: $0) }

    @Test func postsThatNobodyHearsAreCountedForEachSpelling() {
        let board = Switchboard(diagnostics: .counts)
        for (index, name) in names.enumerated() { for _ in 0...index { board[name].post(1) } }
        func unreceivedCount() -> [Int?] {
            board.snapshot().channels.sorted { $0.name.utf8.count < $1.name.utf8.count }.map(\.unreceivedCount)
        }
        #expect(unreceivedCount() == [1, 2])
        let token = board[names[0]].listen { _ in }
        #expect(unreceivedCount().last == 2)
        withExtendedLifetime(token) {}
    }

    @Test func faultsAreCountedForEachSpelling() {
        let counts = Locked<[Int]>([])
        let board = Switchboard(onFault: { fault in counts.withLock { $0.append(fault.count) } })
        for _ in 0..<2 {
            for name in names { board.reportBridgeFault("cancelled", on: name.text, error: CancellationError()) }
        }
        #expect(counts.withLock { $0 } == [1, 1, 2, 2])
    }
}
