internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting
internal import Synchronization

extension TransportConformance {
    /// Delivery at most once, while the connection is established.
    static let messageChecks: [Check] = [
        check("aMessageArrivesAsItWasPublished") { run in
            let transport = try await run.connected()
            let heard = Recorder<TransportMessage>()
            try await transport.subscribe(to: try run.pattern(">"), durableName: nil) { heard.record($0.message) }
            let bodies: [[UInt8]] = [
                [], Array(0...255), Array("\r\nPUB x 1\r\n".utf8), Array(repeating: 7, count: 100_000),
            ]
            for (index, body) in bodies.enumerated() {
                try await transport.publish(
                    try TransportMessage(subject: run.subject("body.\(index)"), body: body),
                    durable: false
                )
            }
            for (index, message) in await heard.first(bodies.count).enumerated() {
                run.expect(
                    message.subject == run.subject("body.\(index)"),
                    "message \(index) has the subject \(message.subject)"
                )
                run.expect(
                    message.body == bodies[index],
                    "body \(index) has \(message.body.count) bytes, \(bodies[index].count) were sent"
                )
            }
        },
        check("aSubjectBeyondASCIIArrivesUnchanged") { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("*"), durableName: nil) {
                heard.record($0.message.subject)
            }
            try await run.publish([""], to: "Küche-厨房", on: transport)
            let subjects = await heard.first(1)
            run.expect(
                subjects.map { Array($0.utf8) } == [Array(run.subject("Küche-厨房").utf8)],
                "it arrived as \(subjects)"
            )
        },
        check("headersArriveAsTheyWereSet") { run in
            let transport = try await run.connected()
            let heard = Recorder<TransportHeaders>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) {
                heard.record($0.message.headers)
            }
            let sent: TransportHeaders = [
                "ce-id": "1", "x-empty": "", "x-odd": "a: b, \"c\"; d=%20",
                "content-type": "application/json; charset=utf-8",
            ]
            try await transport.publish(try run.message("a", "", headers: sent), durable: false)
            let received = await heard.first(1).first ?? [:]
            for (name, value) in sent {
                run.expect(
                    received[name] ?? "" == value,
                    "\(name) arrived as \(received[name] ?? "nothing"), not \(value)"
                )
            }
        },
        check("messagesOfOnePublisherArriveInOrder") { run in
            let sender = try await run.connected()
            let receiver = try await run.connected()
            let heard = Recorder<String>()
            try await receiver.subscribe(to: try run.pattern("a"), durableName: nil) { heard.record($0.message.text) }
            try await run.publish(numbered(1_000), to: "a", on: sender)
            let texts = await heard.first(1_000)
            run.expect(texts == numbered(1_000), "1,000 messages arrived in another order")
        },
        check("patternsMatchAsThoseOfChannels") { run in
            let transport = try await run.connected()
            let one = Recorder<String>()
            let rest = Recorder<String>()
            let middle = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("shop.*"), durableName: nil) {
                one.record($0.message.text)
            }
            try await transport.subscribe(to: try run.pattern("shop.>"), durableName: nil) {
                rest.record($0.message.text)
            }
            try await transport.subscribe(to: try run.pattern("*.a.*"), durableName: nil) {
                middle.record($0.message.text)
            }
            let subjects = [
                "shop", "shop.a", "shop.a.b", "shop.b.a", "shops.a", "other.a.b", "shop.a.b.c", "shop.end", "end.a.end",
            ]
            for subject in subjects { try await run.publish([subject], to: subject, on: transport) }
            let isLast: @Sendable ([String]) -> Bool = { $0.last?.hasSuffix("end") ?? false }
            let ones = await one.wait(until: isLast)
            let rests = await rest.wait(until: isLast)
            let middles = await middle.wait(until: isLast)
            run.expect(ones == ["shop.a", "shop.end"], "shop.* received \(ones)")
            run.expect(
                rests == ["shop.a", "shop.a.b", "shop.b.a", "shop.a.b.c", "shop.end"],
                "shop.> received \(rests)"
            )
            run.expect(middles == ["shop.a.b", "other.a.b", "end.a.end"], "*.a.* received \(middles)")
        },
        check("everySubscriberHearsEachMessageOnceThePublisherToo") { run in
            let transports = [try await run.connected(), try await run.connected(), try await run.connected()]
            let heard = Recorder<Int>()
            for (index, transport) in transports.enumerated() {
                try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { message in
                    if message.message.text != "end" { heard.record(index) }
                }
            }
            let ends = Recorder<Int>()
            for (index, transport) in transports.enumerated() {
                try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { message in
                    if message.message.text == "end" { ends.record(index) }
                }
            }
            try await run.publish(numbered(100) + ["end"], to: "a", on: transports[0])
            _ = await ends.first(3)
            let all = await heard.first(300)
            for index in transports.indices {
                let count = all.filter { $0 == index }.count
                run.expect(count == 100, "transport \(index) received \(count) of 100 messages")
            }
            run.expect(heard.count == 300, "\(heard.count) calls for 300 messages")
        },
        check("aMessageNobodySubscribesToIsNoError") { run in
            let transport = try await run.connected()
            try await run.publish(["into the void"], to: "nobody", on: transport)
        },
        check("callsForOneSubscriptionDoNotOverlap") { run in
            let receiver = try await run.connected()
            let sender = try await run.connected()
            let heard = Recorder<String>()
            let inside = Inside()
            try await receiver.subscribe(to: try run.pattern(">"), durableName: nil) { message in
                if inside.enter() { run.fail("two calls at the same time") }
                heard.record(message.message.text)
                inside.leave()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for publisher in 0..<4 {
                    group.addTask {
                        try await run.publish(numbered(100, from: publisher * 100), to: "a.\(publisher)", on: sender)
                    }
                }
                try await group.waitForAll()
            }
            let texts = await heard.first(400)
            run.expect(Set(texts) == Set(numbered(400)), "\(Set(texts).count) of 400 messages arrived")
        },
        check("aHandlerMayStartTasksThatPublish") { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { message in
                Task { try await run.publish([message.message.text], to: "b", on: transport) }
            }
            try await transport.subscribe(to: try run.pattern("b"), durableName: nil) { heard.record($0.message.text) }
            try await run.publish(numbered(20), to: "a", on: transport)
            let texts = await heard.first(20)
            run.expect(Set(texts) == Set(numbered(20)), "\(texts.count) of 20 answers arrived")
        },
    ]
}

/// Detects concurrent calls.
private final class Inside: Sendable {
    private let count = Atomic<Int>(0)

    func enter() -> Bool { count.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue > 0 }

    func leave() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
}
