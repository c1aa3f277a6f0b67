#if Inspector
import Channels
import ChannelsInspector

/// A program to look at: a shop whose till sells without end, for the tests in a browser and for trying the
/// inspector out.
///
/// Arguments: `--port N`, `--channels N` for so many more channels, `--hostile` for names and messages that try to
/// break the page, `--fault` for a listener that throws now and then, `--busy` for a channel without pauses.
@main
struct Inspected {
    struct Sale: Codable, Sendable {
        var dish: String
        var total: Int
    }

    struct Arguments {
        var port = 7411
        var more = 0
        var flags: Set<String> = []

        init(_ arguments: [String]) {
            var rest = arguments.dropFirst()
            while let argument = rest.popFirst() {
                switch argument {
                case "--port": port = rest.popFirst().flatMap { Int($0) } ?? port
                case "--channels": more = rest.popFirst().flatMap { Int($0) } ?? more
                default: flags.insert(argument)
                }
            }
        }
    }

    static func main() async throws {
        let arguments = Arguments(CommandLine.arguments)
        let board = Switchboard(onFault: { _ in })
        let shop = Shop(board, fails: arguments.flags.contains("--fault"))
        let crowd = Crowd(board, count: arguments.more)
        let stranger = arguments.flags.contains("--hostile") ? Stranger(board) : nil
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Inspector(board, port: arguments.port, posting: [Sale.self]).run() }
            group.addTask { try await shop.sell() }
            group.addTask { try await crowd.chat() }
            if let stranger { group.addTask { try await stranger.speak() } }
            if arguments.flags.contains("--busy") { group.addTask { Hurry(board).run() } }
            try await group.next()
            group.cancelAll()
        }
    }
}
#else
@main
struct Inspected {
    static func main() { print("This needs the trait Inspector: swift run --traits Inspector inspected") }
}
#endif
