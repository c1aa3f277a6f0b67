#if Tool
import ArgumentParser
import Channels
import ChannelsBridge
import Foundation

#if NATS
import ChannelsNATS
#endif
#if SQLite
import ChannelsSQLite
#endif

struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints messages as they are posted, and states as they change.",
        discussion: """
            Prints one line for each: the name, a space and the JSON. A body that is
            not JSON is printed as a JSON string. Listening has begun when the tool
            says so on standard error.

            EXAMPLES
              channels tail 'shop.>'
              channels tail shop.sold --pretty --timestamps --headers
              channels tail shop.sold --count 1 --json
              channels tail 'shop.>' --since 2h --json | jq .data.total
              channels tail 'shop.>' --since all --until-end | wc -l
              channels tail shop.sold --durable audit
              channels tail shop.sold --group workers

            With --since or --durable, it prints stored messages, and with --until-end
            ends when none is left. --durable takes the messages of that name: a bridge
            of the same name and pattern does not receive those printed here.

            Over a file, it prints messages; 'channels state' shows a state.
            """
    )

    @Argument(help: "A name, or a pattern in which '*' stands for one token and '>' for the rest.")
    var pattern: String

    @Option(help: ArgumentHelp("Stop after this many messages.", valueName: "n"))
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "Start with messages stored since then: 90s, 10m, 2h or 7d ago, 2026-01-31T12:00:00Z, or 'all'.",
            valueName: "time"
        )
    )
    var since: Since?

    @Option(
        help: ArgumentHelp(
            "Print each stored message once, and continue there the next time. The server remembers the name.",
            valueName: "name"
        )
    )
    var durable: String?

    @Option(
        help: ArgumentHelp(
            "Share messages with the other members of this group: each goes to one of them.",
            valueName: "name"
        )
    )
    var group: String?

    @Flag(name: .customLong("until-end"), help: "With --since or --durable, stop when all stored messages are printed.")
    var untilEnd = false

    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is \(count); it must be at least 1") }
        if since != nil, durable != nil {
            throw ValidationError("pass either --since or --durable: a durable name has its own position")
        }
        if durable?.isEmpty == true { throw ValidationError("--durable needs a name") }
        if group?.isEmpty == true { throw ValidationError("--group needs a name") }
        if untilEnd, since == nil, durable == nil { throw ValidationError("--until-end is for --since or --durable") }
        if group != nil, since != nil || durable != nil {
            throw ValidationError("--group is for messages posted from now on; a --durable name is shared anyway")
        }
    }

    func run() async {
        await reportingFailures {
            let valid = try validPattern(pattern)
            let transport = try await connection.connect(temporarily: since != nil)
            let ending = Ending(after: count)
            if since != nil || durable != nil {
                try await printStored(valid, transport, ending)
            } else {
                try await printPosted(valid, transport, ending)
            }
            if !untilEnd { StandardStreams.report("listening to \(pattern)") }
            try await ending.closing(transport)
        }
    }

    /// Prints messages posted from now on, and states as they change.
    private func printPosted(_ valid: ChannelPattern, _ transport: any Transport, _ ending: Ending) async throws {
        let subscription = TransportSubscription(to: valid, group: group)
        #if NATS
        if transport is NATSTransport { return try await printPosted(valid, subscription, transport, ending) }
        #endif
        try await transport.subscribe(subscription) { show($0, ending) }
    }

    #if NATS
    private func printPosted(
        _ valid: ChannelPattern,
        _ subscription: TransportSubscription,
        _ transport: any Transport,
        _ ending: Ending
    ) async throws {
        let states = "$KV.\(NATSConfiguration().stateBucket)."
        let isForStates = pattern.utf8.first == UInt8(ascii: "$")
        try await transport.subscribe(subscription) { inbound in
            // A pattern such as '>' also matches where states are stored. The subscription below prints
            // those.
            if isForStates || !inbound.message.subject.utf8.starts(with: states.utf8) { show(inbound, ending) }
        }
        guard !isForStates, group == nil else { return }
        // A user who may not read states still sees messages.
        do {
            try await transport.subscribe(to: try ChannelPattern(validating: states + pattern), durableName: nil) {
                let name = String(decoding: $0.message.subject.utf8.dropFirst(states.utf8.count), as: UTF8.self)
                show($0, as: name, ending)
            }
        } catch { StandardStreams.report("states are not shown: \(error)") }
    }
    #endif

    /// Prints the messages of a stream, each once.
    private func printStored(_ valid: ChannelPattern, _ transport: any Transport, _ ending: Ending) async throws {
        #if SQLite
        if let since, let file = transport as? SQLiteTransport {
            if untilEnd { return try await printAll(valid, since.start, file, ending) }
            return try await file.subscribe(to: valid, from: since.start) { show($0, ending) }
        }
        #endif
        // Only a server removes a durable name by itself.
        guard durable != nil || transport.isServer else {
            throw Failure("--since is for a server or a file; use --durable with a name that may stay")
        }
        let name = durable ?? "tail-\(UUID().uuidString)"
        let subscription = TransportSubscription(to: valid, durableName: name, start: since?.start)
        let printed = PrintedIdentities()
        try await transport.subscribe(subscription) { inbound in
            let identity = inbound.identity ?? ""
            if !printed.contains(identity) {
                // If it was not printed, it is not settled, and is delivered again.
                guard show(inbound, ending) else { return }
                printed.insert(identity)
            }
            inbound.settle?(.acknowledged)
        }
        guard untilEnd, let store = transport as? any MessageStore else { return }
        // Messages that other processes of the name have taken are unsettled until they have been handled.
        while !ending.hasEnded, try await store.unsettledCount(of: name, on: valid) > 0 {
            try await Task.sleep(for: .milliseconds(50))
        }
        ending.end()
    }

    #if SQLite
    private func printAll(
        _ valid: ChannelPattern,
        _ start: ReplayStart,
        _ file: SQLiteTransport,
        _ ending: Ending
    ) async throws {
        var next = start
        while !ending.hasEnded {
            let page = try await file.stored(from: next, matching: valid)
            for stored in page {
                var inbound = InboundMessage(stored.message)
                inbound.secondsSince1970 = stored.secondsSince1970
                guard show(inbound, ending) else { return ending.end() }
            }
            guard let last = page.last else { return ending.end() }
            next = .sequence(last.number + 1)
        }
    }
    #endif

    /// Prints a message. The thread of the C client waits for that. Messages that arrive meanwhile are
    /// buffered, or dropped and counted.
    ///
    /// - Returns: Whether it was printed or need not be.
    @discardableResult
    private func show(_ inbound: InboundMessage, as name: String? = nil, _ ending: Ending) -> Bool {
        let message = inbound.message
        let name = name ?? message.subject
        // Replies, and what clients and servers tell each other, are not channels.
        let isInternal = name.utf8.first == UInt8(ascii: "$") || name.utf8.starts(with: "_INBOX.".utf8)
        if isInternal, pattern.utf8.first == UInt8(ascii: ">") || pattern.utf8.first == UInt8(ascii: "*") {
            return true
        }
        guard ending.takesOne() else { return false }
        let printed = PrintedMessage(
            channel: name,
            message.headers,
            message.body,
            storedAt: inbound.secondsSince1970.map { Timestamp(secondsSince1970: $0) }
        )
        guard ending.shows(printed.text(output)) else { return false }
        ending.endIfEnough()
        return true
    }
}
#endif
