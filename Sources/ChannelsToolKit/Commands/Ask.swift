#if Tool
import ArgumentParser
import ChannelsBridge

struct Ask: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends a request and prints the response.",
        discussion: """
            EXAMPLES
              channels ask shop.price '"tea"'
              channels ask shop.price @request.json --timeout 0.5 --json
            """
    )

    @Argument(help: "The name of the requests.")
    var name: String

    @Argument(help: "The request: JSON, or @file, or - for standard input. (default: standard input)")
    var json: String?

    @Option(help: ArgumentHelp("How long to wait for the response.", valueName: "seconds"))
    var timeout = 5.0

    @Option(help: "The type of the request, for responders that check it. (default: the name of the requests)")
    var type: String?

    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        guard timeout > 0 && timeout <= 1_000_000 else {
            throw ValidationError("--timeout is \(timeout); it must be more than 0, and at most 1000000 seconds")
        }
    }

    func run() async {
        await reportingFailures {
            let message = try enveloped(try validName(name), try JSONInput(json).bytes, type: type)
            let transport = try await connection.connect()
            let reply = try await transport.request(message, timeout: .seconds(timeout))
            let response = PrintedMessage(channel: output.json ? name : nil, reply.headers, reply.body)
            if let error = response.error { throw Failure("the responder says: \(error)") }
            StandardStreams.show(response.text(output))
            try await transport.close(timeout: .seconds(5))
        }
    }
}
#endif
