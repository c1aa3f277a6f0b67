#if Tool
import ArgumentParser
import ChannelsBridge
import Foundation
import Synchronization

struct Post: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Posts a message to a channel.",
        discussion: """
            EXAMPLES
              channels post shop.sold '{"total": 3}'
              channels post shop.sold @sale.json --type Sale
              jq -n '{total: 3}' | channels post shop.sold --durable
              channels post shop.sold '{"total": 3}' --count 1000 --rate 50
              channels post shop.sold @sale.json --durable --count 100000

            With --durable, many messages are in flight at a time.

            A number below zero needs two dashes before it:
              channels post shop.change -- -3
            """
    )

    @Argument(help: "The name of the channel.")
    var name: String

    @Argument(help: "The message: JSON, or @file, or - for standard input. (default: standard input)")
    var json: String?

    @Flag(help: "Wait until a stream has stored it.")
    var durable = false

    @Option(help: "The type of the message, for receivers that check it. (default: the name of the channel)")
    var type: String?

    @Option(help: ArgumentHelp("Post it this many times, and say how long that took.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("Post at most this many messages a second.", valueName: "n"))
    var rate: Double?

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    /// How many messages are published before the first is acknowledged. All are the same, so their order
    /// does not matter.
    private static let mostUnacknowledged = 256

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is \(count); it must be at least 1") }
        if let rate, !(rate > 0.001 && rate.isFinite) {
            throw ValidationError("--rate is \(rate); it must be more than 0.001")
        }
    }

    func run() async {
        await reportingFailures {
            let name = try validName(name)
            let json = try JSONInput(json).bytes
            let transport = try await connection.connect()
            let clock = ContinuousClock()
            let start = clock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<(count ?? 1) {
                    if let rate { try await clock.sleep(until: start + .seconds(Double(number) / rate)) }
                    let message = try enveloped(name, json, type: type)
                    guard durable else {
                        try await transport.publish(message, durable: false)
                        continue
                    }
                    if number >= Self.mostUnacknowledged { try await group.next() }
                    group.addTask { try await transport.publish(message, durable: true) }
                }
                try await group.waitForAll()
            }
            try await transport.close(timeout: .seconds(5))
            guard let count, !hasFailed.load(ordering: .acquiring) else { return }
            let seconds = (clock.now - start) / .seconds(1)
            let perSecond = Int((Double(count) / seconds).rounded())
            StandardStreams.report(
                "\(count) messages in \(String(format: "%.2f", seconds)) s, \(perSecond) a second"
            )
        }
    }
}
#endif
