#if NATS || SQLite
import ArgumentParser
import ChannelsBridge

struct PutBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "putback",
        abstract: "Puts dead letters back, for the listeners that had failed.",
        discussion: """
            Bridges keep the durable messages that their listeners could not handle
            under the name that BridgeConfiguration.deadLetters says. Each letter is
            put back once, on the channel it came from. Prints how many there were.
            One that cannot be put back stays, and the tool fails when it has put back
            the others.

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
            // Says what is wrong with the connection before the box makes one of its own.
            let transport = try await connection.connect()
            try await transport.close(within: .seconds(5))
            StandardStreams.show("\(try await box.putBack(over: transport, atMost: count ?? .max))")
        }
    }
}
#endif
