#if Tool
import ArgumentParser
import ChannelsBridge

#if SQLite
import ChannelsSQLite
#endif

struct Forget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes a durable name from a file, with its unsettled messages.",
        discussion: """
            A file keeps the unsettled messages of a durable name, however long no process
            uses it. Removes the patterns of the name that no running process uses, and
            prints them. If a new version of a program uses the name with another pattern,
            run this while the new version is running: it then removes the former pattern
            only. At a server, use 'nats consumer rm'.

            EXAMPLES
              channels forget kitchen --file sales.sqlite
            """
    )

    @Argument(help: "The durable name, as 'channels streams messages' prints it.")
    var name: String

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func run() async {
        await reportingFailures {
            #if SQLite
            if connection.file != nil, let file = try await connection.connect() as? SQLiteTransport {
                let patterns = try await file.forget(name)
                try await file.close(timeout: .seconds(5))
                return StandardStreams.show(patterns.joined(separator: "\n"))
            }
            #endif
            throw Failure("only a file forgets a name (--file); at a server, use 'nats consumer rm'")
        }
    }
}
#endif
