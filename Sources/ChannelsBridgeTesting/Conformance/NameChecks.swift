internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Names are equal if their Unicode scalars are.
    static let nameChecks: [Check] = [
        check("subjectsOfTwoSpellingsAreTwo") { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            for (number, spelling) in spellings.enumerated() {
                try await transport.subscribe(to: try run.pattern(spelling)) { message in
                    heard.record("\(number) \(message.message.text)")
                }
            }
            try await publish(1, on: transport, run)
            let texts = await heard.first(4)
            run.expect(texts.sorted() == ["0 0 end", "0 0 message 0", "1 1 end", "1 1 message 0"], "they got \(texts)")
        },
        check("groupsOfTwoSpellingsAreTwo", needs: .groups) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            for (number, spelling) in spellings.enumerated() {
                let subscription = TransportSubscription(to: try run.pattern("a"), group: spelling)
                try await transport.subscribe(subscription) { heard.record("\(number) \($0.message.text)") }
            }
            try await run.publish(numbered(20), to: "a", on: transport)
            let texts = await heard.first(40)
            let expected = Set(numbered(20).flatMap { ["0 \($0)", "1 \($0)"] })
            run.expect(Set(texts) == expected, "they got \(Set(texts).count) different messages of 40")
        },
        check("durableSubjectsAndNamesOfTwoSpellingsAreTwo", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            for (number, name) in spellings.enumerated() {
                for (subject, spelling) in spellings.enumerated() {
                    let name = run.durableName(name)
                    try await transport.subscribe(to: try run.pattern(spelling), durableName: name) { message in
                        message.settle?(.acknowledged)
                        heard.record("\(number) \(subject) \(message.message.text)")
                    }
                }
            }
            try await publish(5, durable: true, on: transport, run)
            let texts = await heard.first(24)
            let expected = Set(
                (0..<2).flatMap { number in
                    (0..<2).flatMap { subject in
                        (numbered(5) + ["end"]).map { "\(number) \(subject) \(subject) \($0)" }
                    }
                }
            )
            run.expect(Set(texts) == expected, "they got \(texts.sorted())")
        },
        check("lastValuesOfTwoSpellingsAreTwo", needs: .lastValues) { run in
            let transport = try await run.connected()
            let before = Recorder<String>()
            for (number, spelling) in spellings.enumerated() {
                try await transport.watch(run.pattern(spelling)) { before.record("\(number) \($0.message.text)") }
            }
            for (number, spelling) in spellings.enumerated() {
                let revision = try await transport.storeIfNone(try run.message(spelling, "\(number)"))
                run.expect(revision != nil, "the value of one spelling was taken for that of the other")
            }
            let texts = await before.first(2)
            run.expect(texts.sorted() == ["0 0", "1 1"], "those that watched before received \(texts)")
            for (number, spelling) in spellings.enumerated() {
                let seen = Recorder<String>()
                try await transport.watch(run.pattern(spelling)) { seen.record($0.message.text) }
                run.expect(seen.all == ["\(number)"], "a watcher of spelling \(number) got \(seen.all)")
            }
        },
        check("requestsOfTwoSpellingsAreTwo", needs: .requests) { run in
            let transport = try await run.connected()
            for (number, spelling) in spellings.enumerated() {
                try await transport.respond(to: run.subject(spelling)) { request in
                    request.reply(TransportReply(body: Array("\(number)".utf8)))
                }
            }
            for (number, spelling) in Array(spellings.enumerated()) + Array(spellings.enumerated()) {
                let reply = try await transport.request(try run.message(spelling, "?"), timeout: run.timeout)
                run.expect(reply.text == "\(number)", "a request to spelling \(number) was answered by \(reply.text)")
            }
        },
    ]

    /// One text for a reader, and two names.
    private static let spellings = ["caf\u{E9}", "cafe\u{301}"]

    /// Publishes to both spellings by turns.
    private static func publish(
        _ count: Int,
        durable: Bool = false,
        on transport: any Transport,
        _ run: ConformanceRun
    ) async throws {
        for text in numbered(count) + ["end"] {
            for (number, spelling) in spellings.enumerated() {
                try await run.publish(["\(number) \(text)"], to: spelling, durable: durable, on: transport)
            }
        }
    }
}
