#if Tool
import ArgumentParser
import Channels
import ChannelsBridge

#if NATS
import ChannelsNATS
#endif

struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists, shows, puts back and drops dead letters.",
        discussion: """
            Bridges keep the durable messages that their listeners could not handle
            under the name that BridgeConfiguration.deadLetters says; a relay keeps
            what its broker refuses under 'dead'. An ID is the number of a letter or,
            if no letter has it, the identifier of a message.

            EXAMPLES
              channels dead list
              channels dead show 17
              channels dead putback 17 18
              channels dead putback --all
              channels dead drop 17 --name staging.dead

            A letter is put back on the channel it came from, for the durable name
            that had failed, and removed.
            """,
        subcommands: [List.self, Show.self, PutBack.self, Drop.self]
    )

    /// Where the letters are.
    struct Box: ParsableArguments {
        @Option(help: "The name of the dead letters.")
        var name = "dead"

        @OptionGroup(title: "Connection") var connection: ConnectionOptions

        /// Connects while a body runs.
        func opened(_ body: (DeadLetterBox, any Transport) async throws -> Void) async {
            await reportingFailures {
                let box = DeadLetterBox(try validName(name))
                let transport = try await connection.connect()
                do { try await body(box, transport) } catch {
                    try? await transport.close(timeout: .seconds(1))
                    throw error
                }
                try await transport.close(timeout: .seconds(5))
            }
        }

        /// Finds all letters first, so that nothing is done if one is unknown.
        func handle(
            _ ids: [String],
            _ body: (DeadLetterBox.Letter, DeadLetterBox, any Transport) async throws -> Void,
            then: (any Transport) async -> Void = { _ in }
        ) async {
            await opened { box, transport in
                var letters: [DeadLetterBox.Letter] = []
                for id in ids { letters.append(try await box.letter(id, connected: transport)) }
                for letter in letters { try await body(letter, box, transport) }
                await then(transport)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the dead letters, oldest first.")

        @Flag(help: "Print a JSON object for each, with the message.")
        var json = false

        @OptionGroup var box: Box

        func run() async {
            await box.opened { box, transport in
                var rows = [["ID", "TIME", "CHANNEL", "FOR", "ATTEMPTS", "REASON"]]
                try await box.forEachLetter(connected: transport) { letter in
                    if json {
                        StandardStreams.show(PrintedLetter(letter).object.line)
                    } else {
                        rows.append(PrintedLetter(letter).row)
                    }
                }
                if !json { StandardStreams.show(Table.text(rows)) }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows dead letters, each with its message.",
            discussion: "A body that is text is shown as text, any other as base64."
        )

        @Argument(help: "The letters.")
        var id: [String]

        @Flag(help: "Print a JSON object for each.")
        var json = false

        @OptionGroup var box: Box

        func run() async {
            await box.handle(id) { letter, _, _ in
                let printed = PrintedLetter(letter)
                StandardStreams.show(json ? printed.object.line : printed.text)
            }
        }
    }

    struct PutBack: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "putback",
            abstract: "Puts dead letters back to the listeners that failed.",
            discussion: """
                Prints the ID, the channel and the durable name of each. With --all, prints
                how many were put back, and on standard error how many are left, if any. A
                letter that cannot be put back stays, and the tool fails once it has put
                back the others. Standard error names durable names that are not there.
                """
        )

        @Argument(help: "The letters.")
        var id: [String] = []

        @Flag(help: "Put back all remaining letters.")
        var all = false

        @Option(help: ArgumentHelp("With --all, put back this many letters at most.", valueName: "n"))
        var count: Int?

        @OptionGroup var box: Box

        func validate() throws {
            if all == !id.isEmpty { throw ValidationError("pass either letters or --all") }
            if let count, count < 1 { throw ValidationError("--count is \(count); it must be at least 1") }
            if count != nil, !all { throw ValidationError("--count is for --all") }
        }

        /// Whom a letter is put back for.
        private struct Addressee: Hashable {
            let name: String
            let subject: String

            init?(_ letter: DeadLetterBox.Letter) {
                guard let name = letter.durableName else { return nil }
                (self.name, subject) = (name, letter.message.subject)
            }
        }

        func run() async {
            var back: Set<Addressee> = []
            guard all else {
                return await box.handle(id) { letter, box, transport in
                    try await box.putBack(letter, connected: transport)
                    let name = letter.durableName.map { " for \($0)" } ?? ""
                    StandardStreams.show("put \(letter.id) back on \(letter.message.subject)\(name)".escaped)
                    if let addressee = Addressee(letter) { back.insert(addressee) }
                } then: {
                    await warn(back, $0)
                }
            }
            await box.opened { box, transport in
                var seen = 0
                try await box.forEachLetter(connected: transport) { letter in
                    seen += 1
                    if seen <= count ?? .max, let addressee = Addressee(letter) { back.insert(addressee) }
                }
                StandardStreams.show("\(try await box.putBack(connected: transport, count ?? .max))")
                await warn(back, transport)
                var left = 0
                try await box.forEachLetter(connected: transport) { _ in left += 1 }
                if left > 0 { StandardStreams.report("\(left) \(left == 1 ? "letter is" : "letters are") left") }
            }
        }

        /// Says which durable names are not there.
        private func warn(_ back: Set<Addressee>, _ transport: any Transport) async {
            // The user may lack the permission.
            guard !back.isEmpty, let known = try? await transport.storeStatus(deadLetters: nil).flatMap(\.names) else {
                return
            }
            let gone = back.filter { one in !known.contains { $0.receives(one.subject, as: one.name) } }
            for one in gone.sorted(by: { ($0.name, $0.subject) < ($1.name, $1.subject) }) {
                let place = "\(quoted(one.name)) on \(one.subject)"
                StandardStreams.report(
                    "there is no durable name \(place): a process that takes it will hear what was put back"
                )
            }
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes dead letters: their messages are lost.",
            discussion: "Prints the ID and the channel of each."
        )

        @Argument(help: "The letters.")
        var id: [String]

        @OptionGroup var box: Box

        func run() async {
            await box.handle(id) { letter, box, transport in
                try await box.drop(letter, connected: transport)
                StandardStreams.show("dropped \(letter.id) of \(letter.message.subject)".escaped)
            }
        }
    }
}

extension StoreStatus.DurableName {
    fileprivate func receives(_ subject: String, as durableName: String) -> Bool {
        guard (try? ChannelPattern(validating: pattern))?.matches(subject) == true else { return false }
        #if NATS
        if name.hasBytes(of: NATSTransport.consumerName(durableName, pattern)) { return true }
        #endif
        return name.hasBytes(of: durableName)
    }
}
#endif
