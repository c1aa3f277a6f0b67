#if NATS
import ArgumentParser
import Channels
import ChannelsBridge
import ChannelsNATS
import Foundation
import Synchronization

struct Post: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Posts a message to a channel.")

    @Argument(help: "The name of the channel.")
    var name: String

    @Argument(help: "The message.")
    var json: String

    @Flag(help: "Wait until a stream has stored it.")
    var durable = false

    @OptionGroup var connection: ConnectionOptions

    func run() async {
        await reportingFailures {
            let message = try enveloped(try validName(name), try validJSON(json))
            let transport = try await connection.connect()
            try await transport.publish(message, durable: durable)
            try await transport.close(within: .seconds(5))
            // The server refuses after the message has been accepted, but before the connection has been
            // closed. It has been reported.
            if !failures.isEmpty { Foundation.exit(1) }
        }
    }
}

struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints messages as they are posted, and states as they change.",
        discussion: "One line each: the name, a space, the JSON. It is listening when it says so on standard error."
    )

    @Argument(help: "A name, or a pattern in which '*' stands for one token and '>' for the rest.")
    var pattern: String

    @Option(help: ArgumentHelp("Stop after so many messages.", valueName: "n"))
    var count: Int?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() async {
        await reportingFailures {
            let valid: ChannelPattern
            do { valid = try ChannelPattern(validating: pattern) } catch { throw Failure("\(error)") }
            let transport = try await connection.connect()
            let (messages, continuation) = AsyncStream.makeStream(
                of: TransportMessage.self,
                bufferingPolicy: .bufferingOldest(65_536)
            )
            let missing = Mutex(0)
            let take: @Sendable (TransportMessage) -> Void = { message in
                if case .dropped = continuation.yield(message) { missing.withLock { $0 += 1 } }
            }
            let states = "$KV.\(NATSConfiguration().stateBucket)."
            let isForStates = pattern.hasPrefix("$")
            try await transport.subscribe(to: valid, durableName: nil) { inbound in
                // A pattern such as '>' matches where states are kept, too; they come by the subscription
                // below.
                if isForStates || !inbound.message.subject.hasPrefix(states) { take(inbound.message) }
            }
            // A user who may not read states still sees messages.
            try? await transport.subscribe(to: try ChannelPattern(validating: states + pattern), durableName: nil) {
                take($0.message)
            }
            report("listening to \(pattern)")
            var left = count
            for await message in messages {
                let missed = missing.withLock { missing in
                    defer { missing = 0 }
                    return missing
                }
                if missed > 0 { report("\(missed) messages came faster than they are read and are missing") }
                let name =
                    message.subject.hasPrefix(states)
                    ? String(message.subject.dropFirst(states.count)) : message.subject
                // Answers, and what clients and servers say to each other, are no channels.
                let isInternal = name.hasPrefix("$") || name.hasPrefix("_INBOX.")
                if isInternal, let first = pattern.first, first == ">" || first == "*" { continue }
                show("\(name) \(line(message.body))")
                left = left.map { $0 - 1 }
                if left == 0 { break }
            }
            try await transport.close(within: .seconds(5))
        }
    }
}

struct Ask: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Sends a request and prints the response.")

    @Argument(help: "The name of the requests.")
    var name: String

    @Argument(help: "The request.")
    var json: String

    @Option(help: ArgumentHelp("How long to wait for the response.", valueName: "seconds"))
    var timeout = 5.0

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        if !(timeout > 0 && timeout <= 1_000_000) { throw ValidationError("--timeout must be more than 0") }
    }

    func run() async {
        await reportingFailures {
            let message = try enveloped(try validName(name), try validJSON(json))
            let transport = try await connection.connect()
            let reply = try await transport.request(message, timeout: .seconds(timeout))
            if let error = try EventEnvelope(headers: reply.headers, subject: name).error {
                throw Failure("the responder says: \(error)")
            }
            show(line(reply.body))
            try await transport.close(within: .seconds(5))
        }
    }
}

struct State: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the current value of a state.")

    @Argument(help: "The name of the state.")
    var name: String

    @OptionGroup var connection: ConnectionOptions

    func run() async {
        await reportingFailures {
            let name = try validName(name)
            let transport = try await connection.connect()
            let (values, continuation) = AsyncStream.makeStream(of: StoredValue.self)
            // The value that is stored now is handed over before this returns.
            do {
                try await transport.watch(name) { continuation.yield($0) }
            } catch let error as BridgeError where error.code == .unsupported {
                // No bucket, and so no state.
                throw Failure("there is no state \(name) (\(error))")
            }
            continuation.finish()
            var iterator = values.makeAsyncIterator()
            guard let value = await iterator.next() else { throw Failure("there is no state \(name)") }
            show(line(value.message.body))
            try await transport.close(within: .seconds(5))
        }
    }
}
#endif
