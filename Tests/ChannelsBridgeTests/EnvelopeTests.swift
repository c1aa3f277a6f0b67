import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

@Suite(.hangLimit)
struct EnvelopeTests {
    private let broker = InMemoryBroker()

    @Test func messagesTravelAsCloudEventsInBinaryMode() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let listener = try await connectedTransport(broker)
        let heard = Recorder<TransportMessage>()
        try await listener.subscribe(to: "shop.sold", durableName: nil) { heard.record($0.message) }
        till.board[.sold].post(Sale(total: 12))
        till.board[.sold].post(Sale(total: 13))
        let messages = await heard.first(2)
        let message = try #require(messages.first)
        #expect(String(decoding: message.body, as: UTF8.self) == #"{"total":12}"#)
        #expect(message.headers["ce-specversion"] == "1.0")
        #expect(message.headers["ce-type"] == "Sale")
        #expect(message.headers["Content-Type"] == "application/json")
        #expect(message.headers["ce-source"]?.hasPrefix("channels/till/") == true)
        #expect(message.headers["ce-time"]?.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
        #expect(message.headers["traceparent"] == nil)
        #expect(Set(messages.compactMap { $0.headers["ce-id"] }).count == 2)
        try await till.stop()
    }

    @Test func anotherNameForTheTypeMayTravel() async throws {
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.sold, type: "com.example.sale/2 ü")]
        )
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold, type: "com.example.sale/2 ü")]
        )
        let (heard, token) = kitchen.recorder(.sold)
        till.board[.sold].post(Sale(total: 1))
        #expect(await heard.first(1) == [Sale(total: 1)])
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    /// As tools and clients of other languages send it, which know no type of Swift.
    @Test func nameOfTheChannelIsAcceptedAsTheType() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        try await sender.publish(try .event(#"{"total":1}"#, to: "shop.sold", type: "shop.sold"), durable: false)
        #expect(await heard.first(1) == [Sale(total: 1)])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func contentTypeIsHonoured() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        func send(_ contentType: String, _ body: String) async throws {
            let headers: TransportHeaders = ["content-type": contentType]
            let message = try TransportMessage(subject: "shop.sold", headers: headers, body: Array(body.utf8))
            try await sender.publish(message, durable: false)
        }
        let event = #"{"specversion":"1.0","id":"7","source":"/","type":"Sale","datacontenttype":"#
        try await send("application/cbor", #"{"total":1}"#)
        try await send("application/cloudevents+jsonx", #"{"total":1}"#)
        try await send("application/cloudevents+json", event + #""text/xml","data":"<total/>"}"#)
        for contentType in ["application/json; charset=utf-8", "TEXT/JSON", "application/vnd.shop+json"] {
            try await send(contentType, #"{"total":2}"#)
        }
        try await send("application/cloudevents+json; charset=UTF-8", event + #""a/b+json","data":{"total":2}}"#)
        #expect(await heard.first(4) == Array(repeating: Sale(total: 2), count: 4))
        let letters = await kitchen.deadLetters.first(3)
        #expect(letters.allSatisfy { $0.error.code == .undecodable && $0.error.description.contains("content type") })
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func everyAttributeSurvivesTheHeaders() throws {
        let envelope = EventEnvelope(
            id: "7",
            source: "/till ü",
            type: "Sale",
            time: "2026-01-31T12:34:56.789Z",
            contentType: "text/x-reversed",
            trace: try TraceContext(traceparent: "00-1-2-01", tracestate: "a=b"),
            error: "sold out"
        )
        #expect(try EventEnvelope(headers: envelope.headers, subject: "n") == envelope)
        #expect(try EventEnvelope(headers: EventEnvelope().headers, subject: "n") == EventEnvelope())
    }

    @Test func everyAttributeIsReadFromAnEventInJSON() throws {
        let event = #"""
            {"specversion":"1.0","id":"7","source":"/till ü","type":"Sale","time":"2026-01-31T12:34:56.789Z",
            "datacontenttype":"text/xml","traceparent":"00-1-2-01","tracestate":"a=b","channelserror":"sold out"}
            """#
        let envelope = EventEnvelope(
            id: "7",
            source: "/till ü",
            type: "Sale",
            time: "2026-01-31T12:34:56.789Z",
            contentType: "text/xml",
            trace: try TraceContext(traceparent: "00-1-2-01", tracestate: "a=b"),
            error: "sold out"
        )
        #expect(try StructuredEvent.envelope(of: Array(event.utf8), subject: "n") == envelope)
    }

    @Test func messageOfAnEventMayBeJSONOrText() throws {
        func message<Message: Decodable>(
            _ type: Message.Type,
            _ members: String,
            _ contentType: String = "application/json",
            _ codec: any Codec = JSONCodec()
        ) throws -> Message {
            let event = #"{"specversion":"1.0","id":"7","source":"/","type":"t""# + members + "}"
            return try StructuredEvent.decode(type, from: Array(event.utf8), contentType: contentType, codec)
        }
        #expect(try message(Sale.self, #", "data" : {"total":3,"x":1} "#) == Sale(total: 3))
        #expect(try message(UInt64.self, #","data":18446744073709551615"#) == .max)
        #expect(try message(String.self, #","data":"x""#) == "x")
        #expect(try message(Sale.self, #","data_base64":"eyJ0b3RhbCI6NH0=""#) == Sale(total: 4))
        let reversed = #","data":"}5:\"latot\"{""#
        #expect(try message(Sale.self, reversed, "text/x-reversed", ReversedCodec()) == Sale(total: 5))
        #expect(throws: DecodingError.self) { try message(Sale.self, "") }
    }

    @Test func structuredModeIsAccepted() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let (heard, token) = kitchen.recorder(.sold)
        let plain = #"{"specversion":"1.0","id":"7","source":"/till","type":"Sale","data":{"total":3},"unknown":[1]}"#
        let base64 = #"{"specversion":"1.0","id":"8","source":"/till","type":"Sale","data_base64":"eyJ0b3RhbCI6NH0="}"#
        for json in [plain, base64] {
            let headers: TransportHeaders = ["content-type": "application/cloudevents+json; charset=utf-8"]
            try await sender.publish(
                try TransportMessage(subject: "shop.sold", headers: headers, body: Array(json.utf8)),
                durable: false
            )
        }
        #expect(await heard.first(2).map(\.total) == [3, 4])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aMessageWithoutAnEnvelopeIsTakenAsItIs() async throws {
        let sender = try await connectedTransport(broker)
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold)])
        let origins = Recorder<MessageOrigin>()
        let token = kitchen.board[.sold].posts.listen { post in origins.record(post.origin) }
        try await sender.publish(
            try TransportMessage(subject: "shop.sold", body: Array(#"{"total":3}"#.utf8)),
            durable: false
        )
        #expect(await origins.first(1) == [.remote("unknown")])
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aTraceTravelsWithTheMessage() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold), .outgoing(.lastSale)])
        let office = await MiniProcess("office", InMemoryTransport(broker), [.incoming(.lastSale)])
        let traces = Recorder<TraceContext?>()
        let token = kitchen.board[.sold].listen { sale in
            traces.record(TraceContext.current)
            kitchen.board[.lastSale].post(sale)
        }
        let onward = office.board[.lastSale].listen { _ in traces.record(TraceContext.current) }
        let trace = try TraceContext(
            traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            tracestate: "vendor=x"
        )
        _ = TraceContext.$current.withValue(trace) { till.board[.sold].post(Sale(total: 1)) }
        #expect(await traces.first(2) == [trace, trace])
        for process in [till, kitchen, office] { try await process.stop() }
        withExtendedLifetime((token, onward)) {}
    }

    @Test func anotherCodecCarriesTheMessages() async throws {
        let configuration = BridgeConfiguration.quick.with { $0.codec = ReversedCodec() }
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(.sold)],
            configuration: configuration
        )
        let kitchen = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(.sold)],
            configuration: configuration
        )
        let listener = try await connectedTransport(broker)
        let raw = Recorder<TransportMessage>()
        try await listener.subscribe(to: "shop.sold", durableName: nil) { raw.record($0.message) }
        let (heard, token) = kitchen.recorder(.sold)
        till.board[.sold].post(Sale(total: 1))
        #expect(await heard.first(1) == [Sale(total: 1)])
        #expect(await raw.first(1).first?.headers["content-type"] == "text/x-reversed")
        for process in [till, kitchen] { try await process.stop() }
        withExtendedLifetime(token) {}
    }

    /// What another process or its broker writes must not end a line of a log.
    @Test func anErrorIsOneLineWhateverTheOthersWrite() {
        let version = Array("{\"specversion\":\"0\u{7F}.1\"}".utf8)
        let error = #expect(throws: BridgeError.self) { try StructuredEvent.envelope(of: version, subject: "x") }
        #expect(error?.description == #"invalidEnvelope on 'x', CloudEvents version '0\u{7F}.1'"#)
        let cause = BridgeError(
            .refused,
            detail: "first\nsecond",
            underlyingError: Wordy(description: "\u{2028}é\u{1B}")
        )
        #expect(cause.description == #"refused, first\nsecond: \u{2028}é\u{1B}"#)
    }

    /// In either mode.
    @Test func anEventWhoseTimeIsNoneIsRefused() throws {
        let body = Array(#"{"specversion":"1.0","id":"1","source":"x","time":"2026-02-30T00:00:00Z"}"#.utf8)
        let headers: [TransportHeaders] = [
            ["ce-specversion": "1.0", "ce-id": "1", "ce-source": "x", "ce-time": "yesterday"],
            ["content-type": "application/cloudevents+json"],
        ]
        for headers in headers {
            #expect { try Arrival(headers: headers, body: body, subject: "a") } throws: {
                ($0 as? BridgeError)?.code == .invalidEnvelope
            }
        }
        // It is no event.
        _ = try Arrival(headers: ["ce-time": "yesterday"], body: body, subject: "a")
    }

    /// Foundation's decoder ends the process.
    @Test(arguments: ["[", #"{"":"#, #"{"specversion":"1.0","id":"1","source":"x","data":["#])
    func jsonThatIsNestedTooDeeplyIsRefused(part: String) throws {
        struct Anything: Decodable {}
        let bytes = Array(String(repeating: part, count: 100_000).utf8)
        #expect(throws: DecodingError.self) { try JSONCodec().decode(Anything.self, from: bytes) }
        #expect(throws: BridgeError.self) { try StructuredEvent.envelope(of: bytes, subject: "a") }
        let wide: [UInt8] = (0..<1_026).map { $0 % 2 == 0 ? 0x5B : 0 }
        #expect(throws: DecodingError.self) { try JSONCodec().decode(Anything.self, from: wide) }
        let text = String(repeating: part, count: 100)
        #expect(try JSONCodec().decode([String].self, from: JSONCodec().encode([text])) == [text])
        #expect(throws: Never.self) { try checkNesting(of: Array(repeating: UInt8(ascii: "["), count: 64)) }
    }

    @Test(arguments: ["", "a", "a b", "100%", "\"ü\"\r\n\u{0}", "%zz%4", "厨房", "%41"])
    func headerValuesSurviveTheirEncoding(text: String) throws {
        #expect(text.percentEncoded.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
        #expect(try text.percentEncoded.percentDecoded("x", "y") == text)
    }

    /// A sign is no digit, though the initialisers of numbers take one.
    @Test(arguments: [
        ("%+1", "%+1"), ("%-0", "%-0"), ("% 1", "% 1"), ("%4", "%4"), ("%", "%"), ("%e2%82%ac", "€"),
        ("%E2%82%AC", "€"), ("%2541", "%41"),
    ])
    func onlyTwoHexadecimalDigitsAreAnEscape(text: String, decoded: String) throws {
        #expect(try text.percentDecoded("x", "y") == decoded)
    }

    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00.000Z"), (951_782_400.5, "2000-02-29T00:00:00.500Z"),
        (1_709_251_199.999, "2024-02-29T23:59:59.999Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.000Z"),
        (-2_208_988_800, "1900-01-01T00:00:00.000Z"),
        (1_790_000_000.25, "2026-09-21T14:13:20.250Z"),
    ])
    func timesAreWrittenAsRFC3339(seconds: Double, text: String) {
        #expect(Timestamp(secondsSince1970: seconds).text == text)
        #expect(Timestamp(text)?.secondsSince1970 == seconds)
    }

    @Test func timesOfEveryDayAreReadAsTheyAreWritten() {
        for day in stride(from: -719_528, through: 2_932_896, by: 97) {
            let time = Timestamp(secondsSince1970: Double(day) * 86_400 + 3_723)
            #expect(Timestamp(time.text) == time)
        }
    }

    @Test(arguments: [
        ("2026-09-21T14:13:20Z", 1_790_000_000), ("2026-09-21t14:13:20.25z", 1_790_000_000.25),
        ("2026-09-21T16:13:20+02:00", 1_790_000_000), ("2026-09-21T07:43:20-06:30", 1_790_000_000),
        ("2026-09-21T14:13:20.123456789Z", 1_790_000_000.123456789),
    ])
    func timesOfOthersAreRead(text: String, seconds: Double) {
        #expect(abs((Timestamp(text)?.secondsSince1970 ?? .nan) - seconds) < 0.000_001)
    }

    @Test(arguments: [
        "", "yesterday", "2026-09-21", "2026-09-21T14:13:20", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zz", "2026-01-01T00:00:00+1:00",
        "٢٠٢٦-01-01T00:00:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
    ])
    func whatIsNoTimeIsNone(text: String) { #expect(Timestamp(text) == nil) }
}

struct Wordy: Error, CustomStringConvertible {
    let description: String
}

/// JSON backwards.
struct ReversedCodec: Codec {
    let contentType = "text/x-reversed"

    func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] { try JSONCodec().encode(message).reversed() }

    func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
        try JSONCodec().decode(type, from: bytes.reversed())
    }
}
