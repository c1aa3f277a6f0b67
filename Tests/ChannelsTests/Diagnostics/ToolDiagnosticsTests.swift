import Channels
import ChannelsDiagnostics
import Testing

/// What tools, as the inspector, record beside the program and each other.
struct ToolDiagnosticsTests {
    private final class Tool: Sendable {}
    private struct Card: Sendable { let number: Int }
    private struct Sale: Sendable { let card: Card }

    private let board = Switchboard(onFault: { _ in })
    private let number = ChannelName<Int>("tool.number")
    private let first = Tool()
    private let second = Tool()

    private func shown(_ name: String = "tool.number") throws -> ChannelSnapshot { try board.shown(name) }

    @Test func whatTheProgramAndTheToolsAskForIsRecordedTogether() throws {
        let token = board[number].listen { _ in }
        board.diagnostics = .counts
        board[number].post(0)
        board.record(.trace(keeping: 2), for: first)
        board.record(.trace(keeping: 4), for: second)
        for message in 1...5 { board[number].post(message) }
        #expect(try shown().postCount == 6)
        #expect(try shown().messages.map(\.text) == ["2", "3", "4", "5"])
        board.record(.counts, for: second)
        #expect(try shown().messages.map(\.text) == ["4", "5"])
        board.record(.off, for: first)
        #expect(try shown().messages.isEmpty && shown().posters.isEmpty)
        board.record(.off, for: second)
        board[number].post(6)
        #expect(try shown().postCount == 7)
        #expect(board.diagnostics == .counts)
        withExtendedLifetime(token) {}
    }

    @Test func theProgramSwitchesNothingOffThatAToolRecords() throws {
        let token = board[number].listen { _ in }
        board.record(.counts, for: first)
        board[number].post(1)
        board.diagnostics = .trace
        board.diagnostics = .off
        board[number].post(2)
        #expect(try shown().postCount == 2)
        #expect(board.diagnostics == .off)
        withExtendedLifetime(token) {}
    }

    @Test func afterTheLastToolNothingIsCountedTheNextBeginsAtZero() throws {
        let token = board[number].listen { _ in }
        let nobody: ChannelName<Int> = "tool.nobody"
        board.record(.counts, for: first)
        board.record(.counts, for: second)
        board[number].post(1)
        board[nobody].post(1)
        board.record(.off, for: first)
        board[number].post(2)
        #expect(try shown().postCount == 2)
        #expect(try shown("tool.nobody").postCount == 1)
        board.record(.off, for: second)
        board[number].post(3)
        board[nobody].post(3)
        #expect(try shown().postCount == nil)
        #expect(board.snapshot().channels.map(\.name) == ["tool.number"])
        board.record(.trace, for: first)
        board[number].post(4)
        #expect(try shown().postCount == 1)
        #expect(board.snapshot().channels.map(\.name) == ["tool.number"])
        #expect(token.deliveredCount == 1)
    }

    @Test func everyPostIsCountedAlsoWhereAChannelIsMadeForIt() throws {
        let pattern = board[matching: "tool.*"].listen { _ in }
        board.record(.counts, for: first)
        for number in 0..<100 { try board.channel("tool.name\(number)", of: Int.self).post(number) }
        #expect(try shown("tool.*").postCount == 100)
        withExtendedLifetime(pattern) {}
    }

    @Test func whatOneToolHidesNoOtherShows() throws {
        let sold: ChannelName<Sale> = "tool.sold"
        let token = board[sold].listen { _ in }
        board.record(.trace(keeping: 1), for: first)
        board.record(.trace(keeping: 0, redacting: [Card.self]), for: second)
        board[sold].post(Sale(card: Card(number: 1)))
        #expect(try shown("tool.sold").messages.map(\.text) == ["Sale(card: <Card, redacted>)"])
        withExtendedLifetime(token) {}
    }

    @Test func toolsThatComeAndGoBesidePostingThreadsLeaveNothingOn() async throws {
        let channel = board.channel(number)
        let tokens = (0..<4).map { _ in channel.listen { _ in } }
        let tools = [first, second]
        await onThreads(4) { index in
            guard index < 2 else { return (0..<2_000).forEach { channel.post($0) } }
            for round in 0..<200 {
                board.record(round % 3 == 0 ? .trace(keeping: 4) : .counts, for: tools[index])
                _ = board.snapshot()
                if round % 2 == 1 { board.record(.off, for: tools[index]) }
            }
        }
        #expect(try shown().postCount == nil)
        board.record(.counts, for: first)
        channel.post(1)
        #expect(try shown().postCount == 1)
        withExtendedLifetime(tokens) {}
    }
}
