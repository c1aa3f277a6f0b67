#if Tool
import ArgumentParser
import Channels
import ChannelsBridge
import Synchronization

struct State: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the current value of a state, follows it, or sets it.",
        discussion: """
            Of several states, it prints each on a line of its own, behind its name.

            EXAMPLES
              channels state shop.total
              channels state shop.total --watch
              channels state 'presence.*' --watch
              channels state shop.total 42
              channels state shop.settings @settings.json
            """
    )

    @Argument(help: "The name of the state; to print states, also a pattern: '*' is one token, '>' the rest.")
    var name: String

    @Argument(help: "The value to set: JSON, or @file, or - for standard input.")
    var json: String?

    @Flag(help: "Print the current value, if there is one, and then each change.")
    var watch = false

    @Option(help: ArgumentHelp("Stop after this many values.", valueName: "n"))
    var count: Int?

    @Option(help: "The type of the value, for receivers that check it. (default: the name of the state)")
    var type: String?

    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is \(count); it must be at least 1") }
        if count != nil, !watch { throw ValidationError("--count needs --watch") }
        if watch, json != nil { throw ValidationError("pass either a value or --watch") }
    }

    func run() async {
        await reportingFailures {
            let pattern = try json == nil ? validPattern(name) : ChannelPattern(validating: validName(name))
            let value = try json.map { try JSONInput($0).bytes }
            let transport = try await connection.connect()
            if let value {
                try await set(try enveloped(name, value, type: type), transport)
            } else if watch {
                try await show(pattern, transport, Ending(after: count))
            } else {
                try await show(pattern, transport)
            }
        }
    }

    private func set(_ message: TransportMessage, _ transport: any Transport) async throws {
        do {
            _ = try await transport.store(message)
        } catch let error as BridgeError where error.code == .notStored || error.code == .unsupported {
            throw Failure("the server has no states yet: the first bridge with a state creates them (\(error))")
        }
        try await transport.close(timeout: .seconds(5))
    }

    /// Prints the current values.
    private func show(_ pattern: ChannelPattern, _ transport: any Transport) async throws {
        let current = Mutex<(values: [StoredValue], names: Set<ExactText>)>(([], []))
        try await Self.watch(pattern, transport) { value in
            current.withLock { current in
                guard current.names.insert(ExactText(value.message.subject)).inserted else { return }
                current.values.append(value)
            }
        }
        let values = current.withLock { $0.values }
        if values.isEmpty { throw Failure("there is no state \(pattern)") }
        for value in values { StandardStreams.show(printed(value, of: pattern).text(output)) }
        try await transport.close(timeout: .seconds(5))
    }

    /// Prints the current values, and then each change.
    private func show(_ pattern: ChannelPattern, _ transport: any Transport, _ ending: Ending) async throws {
        try await Self.watch(pattern, transport) { value in
            guard ending.takesOne() else { return }
            if ending.shows(printed(value, of: pattern).text(output)) { ending.endIfEnough() }
        }
        StandardStreams.report("watching \(pattern)")
        try await ending.closing(transport)
    }

    /// Watches values. Those that are stored now are passed on before this returns.
    private static func watch(
        _ pattern: ChannelPattern,
        _ transport: any Transport,
        onValue: @escaping @Sendable (StoredValue) -> Void
    ) async throws {
        do {
            try await transport.watch(pattern, onValue: onValue)
        } catch let error as BridgeError where error.code == .notStored || error.code == .unsupported {
            // There is no bucket, and so there are no states.
            throw Failure("there is no state \(pattern) (\(error))")
        }
    }

    private func printed(_ value: StoredValue, of pattern: ChannelPattern) -> PrintedMessage {
        let isNamed = output.json || pattern.onlyName == nil
        return PrintedMessage(channel: isNamed ? value.message.subject : nil, value.message.headers, value.message.body)
    }
}
#endif
