#if NATS || SQLite
import ArgumentParser
import Channels
import ChannelsBridge

#if NATS
import ChannelsNATS
#endif
#if SQLite
import ChannelsSQLite
#endif

struct PutBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "putback",
        abstract: "Puts dead letters back, for the listeners that had failed.",
        discussion: """
            Bridges keep the durable messages that their listeners could not handle
            under the name that BridgeConfiguration.deadLetters says. Each letter is
            put back once, on the channel it came from. Prints how many were put back,
            and on standard error how many are left, if any are. One that cannot be
            put back stays, and the tool fails when it has put back the others.

            EXAMPLES
              channels putback dead
              channels putback dead --count 1
              channels putback staging.dead
            """
    )

    @Argument(help: "The name of the dead letters.")
    var name: String

    @Option(help: ArgumentHelp("Put back this many letters at most.", valueName: "n"))
    var count: Int?

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() async {
        await reportingFailures {
            let box = DeadLetterBox(try validName(name))
            // Reports a connection problem before the box connects itself.
            let transport = try await connection.connect()
            try await transport.close(within: .seconds(5))
            StandardStreams.show("\(try await box.putBack(over: transport, atMost: count ?? .max))")
            let left = try await lettersLeft()
            if left > 0 { StandardStreams.report("\(left) \(left == 1 ? "letter is" : "letters are") left") }
        }
    }

    /// How many letters the box has not put back.
    private func lettersLeft() async throws -> Int {
        let transport = try await connection.connect()
        let left = try await lettersLeft(transport)
        try await transport.close(within: .seconds(5))
        return left
    }

    private func lettersLeft(_ transport: any Transport) async throws -> Int {
        let pattern = name + ".>"
        #if SQLite
        if let file = transport as? SQLiteTransport {
            let names = try await file.contents().names.filter {
                $0.name == DeadLetterBox.durableName && $0.pattern.hasBytes(of: pattern)
            }
            return names.reduce(0) { $0 + $1.waiting + $1.unsettled }
        }
        #endif
        #if NATS
        if let server = transport as? NATSTransport {
            return try await server.unsettledCount(of: DeadLetterBox.durableName, on: pattern)
        }
        #endif
        return 0
    }
}
#endif
