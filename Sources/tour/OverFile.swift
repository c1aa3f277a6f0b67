#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite

extension ChannelName<Bool> {
    fileprivate static var kitchenAsked: Self { "kitchen.asked" }
}

extension ChannelName<Totals> {
    fileprivate static var kitchenTold: Self { "kitchen.told" }
}

/// A file between the till and the kitchen. It carries no requests, so a question and its answer are messages on two
/// channels here; neither the till nor the kitchen notices.
struct OverFile: TwoProcesses.Line {
    let place: String
    let weakness = "the kitchen has heard what another till left in the file"
    let isDurable = true

    func transport() -> any Transport { SQLiteTransport(path: place) }

    func answering(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?) {
        let token = board[.kitchenAsked].listen { isClosing in
            board[.kitchenTold].post(try await board.requests(.kitchenTotals).ask(isClosing))
        }
        return ([.incoming(.kitchenAsked), .outgoing(.kitchenTold)], token)
    }

    func asking(_ board: Switchboard) -> (routes: [BridgeRoute], token: ListenerToken?) {
        let token = board.requests(.kitchenTotals).respond { isClosing in
            let told = board[.kitchenTold].messages()
            board[.kitchenAsked].post(isClosing)
            for await totals in told { return totals }
            throw CancellationError()
        }
        return ([.outgoing(.kitchenAsked), .incoming(.kitchenTold)], token)
    }
}
#endif
