import Channels
import ChannelsTesting
import Testing

/// What things look like in a log.
struct DescriptionTests {
    @Test func channelsSayTheirNameOrTypeAndHowManyListen() {
        let board = Switchboard()
        let token = board["shop.sold"].listen { (_: Int) in }
        #expect("\(board["shop.sold" as ChannelName<Int>].channel)" == "shop.sold: Channel<Int>, 1 listeners")
        #expect("\(Channel<String>())" == "Channel<String>, 0 listeners")
        let state: StateName<Bool> = "shop.open"
        #expect("\(board.state(state, initial: false))" == "shop.open: StateChannel<Bool>, 0 listeners")
        #expect("\(StateChannel(1))" == "StateChannel<Int>, 0 listeners")
        #expect("\(state)" == "shop.open" && board.state(state, initial: true).name == "shop.open")
        #expect(board.requests("shop.price" as RequestName<Int, String>).name == "shop.price")
        #expect(RequestChannel<Int, Int>().name == nil && StateChannel(1).name == nil)
        withExtendedLifetime(token) {}
    }

    @Test func aBoardNamesTheOwnerOfAPatternOnEachChannel() {
        let (board, log, audit) = (Switchboard(), Owner(), Keeper())
        let listener = board["shop.sold"].listen { (_: Int) in }
        // Of one line of the source, so that the owners cannot be told apart by it.
        for owner in [log, audit] as [any AnyObject & Sendable] { listen(owner, board) }
        let lines = "\(board)".split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(
            lines.contains { $0.hasPrefix("Owner, pattern,") } && lines.contains { $0.hasPrefix("Keeper, pattern,") }
        )
        #expect(!lines.contains { $0.hasPrefix("token, pattern,") })
        withExtendedLifetime((listener, log, audit)) {}
    }

    private final class Keeper: Sendable {}

    private func listen<Owner: AnyObject & Sendable>(_ owner: Owner, _ board: Switchboard) {
        board[matching: "shop.*"].listen(owner) { _, _ in }
    }

    @Test func namesAndPatternsAreTheirText() throws {
        let name: ChannelName<Int> = "shop.sold"
        let request: RequestName<Int, Int> = "shop.price"
        let pattern: ChannelPattern = "shop.*"
        #expect("\(name) \(request) \(request.text) \(pattern)" == "shop.sold shop.price shop.price shop.*")
        let twice = try ChannelPattern(validating: "shop.*")
        #expect(pattern == twice)
        #expect(pattern != "shop.>")
        #expect(Set<ChannelPattern>([pattern, twice, "shop.>"]).count == 2)
    }

    @Test func aRefusedUpdateReturnsWhatItsBodyReturnsAndChangesNothing() {
        let faults = Recorder<Fault.Code>()
        let state = StateChannel(0) { faults.record($0.code) }
        let results = Recorder<Int>()
        let token = state.listen { value in
            let result = state.update { value in
                value += 1
                return value
            }
            if result > state.value || value >= 1_023 { results.record(result) }
        }
        #expect(faults.all.contains(.recursionLimit))
        #expect(results.all.last == state.value + 1)
        withExtendedLifetime(token) {}
    }
}
