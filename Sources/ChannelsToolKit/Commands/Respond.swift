#if Tool
import ArgumentParser
import ChannelsBridge

struct Respond: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Responds to requests, and prints them.",
        discussion: """
            Each request gets the same response, or with --echo the request itself.
            If others respond, too, each request goes to one of them. It responds
            from when it says so on standard error.

            EXAMPLES
              channels respond shop.price 4.50
              channels respond shop.price @price.json --count 1
              channels respond shop.echo --echo
            """
    )

    @Argument(help: "The name of the requests.")
    var name: String

    @Argument(help: "The response: JSON, or @file, or - for standard input. (default: standard input)")
    var json: String?

    @Flag(help: "Respond with the request.")
    var echo = false

    @Option(help: ArgumentHelp("Stop after this many requests.", valueName: "n"))
    var count: Int?

    @Option(help: "The type of the response, for askers that check it. (default: the name of the requests)")
    var type: String?

    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is \(count); it must be at least 1") }
        if echo, json != nil { throw ValidationError("pass either a response or --echo") }
    }

    func run() async {
        await reportingFailures {
            let name = try validName(name)
            let response = echo ? nil : try JSONInput(json).bytes
            let transport = try await connection.connect()
            let ending = Ending(after: count)
            try await transport.respond(to: name) { [type] request in
                guard ending.takesOne() else { return }
                let message = request.message
                let printed = PrintedMessage(channel: name, message.headers, message.body)
                let envelope = envelope(on: name, type: type)
                request.reply(TransportReply(headers: envelope.headers, body: response ?? printed.body))
                if ending.shows(printed.text(output)) { ending.endIfEnough() }
            }
            StandardStreams.report("responding to \(name)")
            try await ending.closing(transport)
        }
    }
}
#endif
