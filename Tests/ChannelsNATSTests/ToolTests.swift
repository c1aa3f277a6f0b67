#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// The tool `channels` as a process, against a real server.
@Suite(.fewServers, .hangLimit)
struct ToolTests {
    // MARK: Output

    @Test func tailEndsWhenItsReaderHasGoneWithoutAnotherMessage() async throws {
        let tool = Tool(try await NATSServer())
        let result = try await tool.script(
            """
            { "$TOOL" tail 'shop.>' 2>"$FOLDER/said"; echo "status $?" >&2; } | head -1 &
            until grep -qs listening "$FOLDER/said"; do :; done
            "$TOOL" post shop.sold '{"total": 3}'
            wait
            """
        )
        #expect(result.output == "shop.sold {\"total\": 3}\n")
        // By SIGPIPE, as other tools end.
        #expect(result.errors == "status 141\n")
    }

    @Test(arguments: [
        "\"$TOOL\" streams >/dev/full", "\"$TOOL\" streams >&-",
        "\"$TOOL\" post a - <&-", "\"$TOOL\" post a @/nowhere", "\"$TOOL\" post a @/tmp", "\"$TOOL\" post a </dev/null",
        "head -c 70000000 /dev/zero 2>/dev/null | \"$TOOL\" post a", "\"$TOOL\" post a '{'", "\"$TOOL\" post a 01",
        "printf '\"\\377\"' | \"$TOOL\" post a", "\"$TOOL\" post a..b 1",
    ])
    func whatFailsEndsWithStatusOneAndOneLine(_ script: String) async throws {
        let tool = Tool(try await NATSServer())
        let result = try await tool.script(script)
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.errors.hasPrefix("channels: "))
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    }

    @Test func whatControlsATerminalOrReordersTextIsEscaped() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let running = try await tool.start("tail", ">", "--count", "4", "--headers", until: "listening")
        let peer = try await Peer.connect(to: server)
        try publishRaw(headers: "x: \u{202E}\r\n", "1", to: "d", of: server)
        // JSON may contain these in strings.
        try await peer.publish("{\"a\":\"\u{202E}\u{7F}\u{9B}31m\u{2028}\u{E0001}é👩‍👧\",\n\t\"b\":1e400}", to: "a")
        // This is not JSON.
        try await peer.publish("\u{1B}]0;title\u{7}\u{1B}[2J\r\nx \u{2066}", to: "b\u{202E}c")
        try await peer.publish("", to: "empty")
        #expect(await running.output.contains("status 0"), "\(running.output.text)")
        let lines = running.lines.dropFirst()
        #expect(
            Array(lines) == [
                #"d 1"#,
                #"  x: \u202e"#,
                #"a {"a":"\u202e\u007f\u009b31m\u2028\udb40\udc01é👩‍👧",  "b":1e400}"#,
                #"b\u202ec "\u001b]0;title\u0007\u001b[2J\r\nx \u2066""#,
                #"empty """#,
            ]
        )
        try await peer.close()
        withExtendedLifetime(running) {}
    }

    @Test func jsonHasAttributesHeadersAndTheMessageAsItIs() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let running = try await tool.start("tail", "a", "--json", "--count", "3", until: "listening")
        let peer = try await Peer.connect(to: server)
        let envelope = EventEnvelope(id: "1", source: "ü", type: "T", time: "2026-01-31T12:00:00Z")
        let number = "{\"z\":12345678901234567890.10,\"a\":1}"
        try await peer.transport.publish(
            TransportMessage(subject: "a", headers: envelope.headers, body: Array(number.utf8)),
            durable: false
        )
        try await peer.transport.publish(TransportMessage(subject: "a", body: [0xFF, 0]), durable: false)
        try await peer.publish("not JSON", to: "a")
        #expect(await running.output.contains("status 0"), "\(running.output.text)")
        let lines = running.lines
        #expect(
            lines[1]
                == #"{"channel":"a","time":"2026-01-31T12:00:00Z","id":"1","source":"ü","type":"T","data":{"z":12345678901234567890.10,"a":1}}"#
        )
        #expect(lines[2].hasSuffix(#","data_base64":"/wA="}"#))
        #expect(lines[3].hasSuffix(#","data":"not JSON"}"#))
        try await peer.close()
        withExtendedLifetime(running) {}
    }

    /// A line for each bracket, indented by its depth, would be half a terabyte.
    @Test func prettyOutputOfADeepMessageIsNotQuadratic() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let running = try await tool.start("tail", "a", "--pretty", "--count", "2", until: "listening")
        let peer = try await Peer.connect(to: server)
        try await peer.publish("{\"a\":[],\"b\":[1,{\"c\":\"[,\\\"\"}]}", to: "a")
        let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
        try await peer.publish(deep, to: "a")
        #expect(await running.output.contains("status 0"))
        let expected = """
            a {
              "a": [],
              "b": [
                1,
                {
                  "c": "[,\\""
                }
              ]
            }

            """
        #expect(running.output.text.contains(expected), "\(running.output.text.prefix(300))")
        #expect(running.output.text.utf8.count < 40_000 * 100)
        try await peer.close()
        withExtendedLifetime(running) {}
    }

    // MARK: Input

    @Test func messagesComeFromTheCommandLineFilesAndStandardInput() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: "a")
        let tool = Tool(server)
        let file = server.folder.appending(path: "message.json")
        try "{\"from\": \"file\"}\n".write(to: file, atomically: true, encoding: .utf8)
        _ = try await tool.run("post", "a", "{\"from\": \"line\"}")
        _ = try await tool.run("post", "a", "@\(file.path)")
        _ = try await tool.run("post", "a", "-", input: "{\"from\":\n \"input\"}\r\n")
        _ = try await tool.run("post", "a", input: "4")
        _ = try await tool.run("post", "a", "--", "-5")
        let texts = await received.wait(count: 5).map(\.text)
        #expect(texts == [#"{"from": "line"}"#, #"{"from": "file"}"#, "{\"from\":\n \"input\"}", "4", "-5"])
        try await peer.close()
    }

    @Test func messageLargerThanTheServerTakesIsRefused() async throws {
        let tool = Tool(try await NATSServer())
        let large = "\"" + String(repeating: "x", count: 1_100_000) + "\""
        let result = try await tool.run("post", "a", input: large)
        #expect(result.status == 1)
        #expect(result.errors.contains("payloadTooLarge"))
    }

    @Test func postedMessageIsAnEventWithAType() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: "shop.sold")
        let tool = Tool(server)
        #expect(
            try await tool.run("post", "shop.sold", "1", "--count", "2", "--rate", "100").errors.contains("2 messages")
        )
        #expect(try await tool.run("post", "shop.sold", "1", "--type", "Sale").status == 0)
        let events = try await received.wait(count: 3).map {
            try EventEnvelope(headers: $0.message.headers, subject: "")
        }
        #expect(events.map(\.type) == ["shop.sold", "shop.sold", "Sale"])
        #expect(Set(events.map(\.id)).count == 3)
        #expect(events.allSatisfy { $0.source == "channels" && $0.time != nil && $0.contentType == "application/json" })
        try await peer.close()
    }

    // MARK: Servers

    @Test(arguments: [
        ("nats://host.invalid:4222", "unknown host 'host.invalid'"),
        ("nats://127.0.0.1:1", "connection refused by 127.0.0.1:1"),
        ("http://127.0.0.1:4222", "'http://': this is not a scheme"),
        ("ws://127.0.0.1", "WebSockets are not supported"),
        ("nats://127.0.0.1:99999", "not the address of a server"), (",", "no server is given"),
    ])
    func errorSaysWhyThereIsNoConnection(_ address: String, _ text: String) async throws {
        let tool = Tool(try await NATSServer())
        let result = try await tool.run("post", "a", "1", "--server", address)
        #expect(result.status == 1)
        #expect(result.errors.contains(text), "\(result.errors)")
    }

    @Test func passwordInAnAddressIsNotPrinted() async throws {
        let tool = Tool(try await NATSServer())
        for address in ["nats://me:s3cret@127.0.0.1:1", "nats://me:s3cret@", "http://me:s3cret@host"] {
            let result = try await tool.run("post", "a", "1", "--server", address)
            #expect(result.status == 1 && !result.errors.contains("s3cret"), "\(result.errors)")
        }
    }

    @Test func tokenNkeyAndCertificateAreAccepted() async throws {
        let withToken = Tool(try await NATSServer(.init(configuration: "authorization { token: \"s3cret\" }")))
        #expect(try await withToken.run("post", "a", "1", "--token", "s3cret").status == 0)
        #expect(try await withToken.script("NATS_TOKEN=s3cret \"$TOOL\" post a 1").status == 0)
        #expect(try await withToken.run("post", "a", "1", "--token", "x").errors.contains("authenticationFailed"))

        // The example in the documentation of NATS.
        let publicKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
        let server = try await NATSServer(.init(configuration: "authorization { users: [ { nkey: \(publicKey) } ] }"))
        let file = server.folder.appending(path: "seed").path
        try "\(seed)\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await Tool(server).run("post", "a", "1", "--nkey", file).errors == "")
        try "\(seed.dropLast())A\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await Tool(server).run("post", "a", "1", "--nkey", file).errors.contains("user nkey seed"))

        let certificates = try Certificates()
        let strict = try await NATSServer(.init(configuration: certificates.verifyingConfiguration))
        let result = try await Tool(strict).run(
            "post",
            "a",
            "1",
            "--server",
            "tls://localhost:\(strict.port)",
            "--ca",
            certificates.authority,
            "--cert",
            certificates.client.certificate ?? "",
            "--key",
            certificates.client.key ?? ""
        )
        #expect(result.errors == "" && result.status == 0)
    }

    @Test func tailSurvivesAServerThatGoesAway() async throws {
        let server = try await NATSServer()
        let running = try await Tool(server).start("tail", "a", until: "listening")
        server.kill()
        #expect(await running.output.contains("the connection is lost"))
        try await server.start()
        #expect(await running.output.contains("the connection is back"))
        let peer = try await Peer.connect(to: server)
        try await peer.publish("1", to: "a")
        #expect(await running.output.contains("a 1\n"))
        kill(running.pid, SIGTERM)
        #expect(await running.output.contains("status 143"))
        try await peer.close()
    }

    // MARK: What is stored

    @Test func tailSinceBeginsWithWhatIsStoredAndLeavesNothingBehind() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        for number in 1...3 { try await peer.publish("\(number)", to: "shop.sold", durable: true) }
        _ = try await peer.transport.store(message("0", to: "shop.total"))
        let tool = Tool(server)
        let all = try await tool.run("tail", ">", "--since", "all", "--count", "3")
        #expect(all.output == "shop.sold 1\nshop.sold 2\nshop.sold 3\n")
        let recent = try await tool.run("tail", "shop.sold", "--since", "1h", "--count", "2", "--timestamps")
        let year = Calendar(identifier: .gregorian).component(.year, from: .now)
        #expect(recent.output.hasPrefix("\(year)-") && recent.output.contains("Z shop.sold 2\n"))
        #expect(try await tool.run("streams", "SHOP").output.split(separator: "\n").count == 1)
        #expect(try await tool.run("tail", "bank.>", "--since", "1h").errors.contains("no stream keeps it"))
        #expect(try await tool.run("tail", "bank.>", "--since", "soon").status == 64)
        try await peer.close()
    }

    @Test func manyDurableMessagesAreOnTheirWayAtATime() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let received = Recorder<Int>()
        try await peer.transport.subscribe(to: "shop.sold", durableName: "kitchen") { message in
            message.settle?(.acknowledged)
            received.record(1)
        }
        let tool = Tool(server)
        let result = try await tool.run("post", "shop.sold", "1", "--durable", "--count", "1000")
        #expect(result.status == 0 && result.errors.contains("1000 messages"), "\(result.errors)")
        await received.wait(count: 1_000)
        let plain = try await peer.subscribe(to: "bank.>")
        let refused = try await tool.run("post", "bank.sold", "1", "--durable", "--count", "1000")
        #expect(refused.status == 1 && refused.errors.contains("no stream keeps it"))
        try await peer.close()
        #expect(plain.count == 0)
    }

    @Test func tailOfAGroupSharesWithOthers() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let peer = try await Peer.connect(to: server)
        let running = [
            try await tool.start("tail", "a", "--group", "workers", until: "listening"),
            try await tool.start("tail", "a", "--group", "workers", until: "listening"),
        ]
        for number in 1...100 { try await peer.publish("\(number)", to: "a") }
        let alone = try await tool.start("tail", "a", "--group", "others", "--count", "1", until: "listening")
        try await peer.publish("end", to: "a")
        #expect(await alone.output.contains("status 0"))
        func heard() -> [String] { running.flatMap { $0.lines.filter { $0.hasPrefix("a ") } } }
        await wait(for: heard().count) { $0 >= 101 }
        #expect(Set(heard()).count == 101)
        #expect(try await tool.run("tail", "a", "--group", "x", "--durable", "y").status == 64)
        try await peer.close()
        withExtendedLifetime(running) {}
    }

    @Test func tailEndsAtTheEndOfWhatIsStored() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let tool = Tool(server)
        #expect(try await tool.run("tail", "shop.>", "--since", "all", "--until-end").output.isEmpty)
        for number in 1...300 { try await peer.publish("\(number)", to: "shop.sold", id: "\(number)", durable: true) }
        for options in [["--since", "all"], ["--durable", "audit"]] {
            let all = try await tool.run("tail", "shop.>", "--until-end", options[0], options[1])
            #expect(all.status == 0 && all.output == (1...300).map { "shop.sold \($0)\n" }.joined())
        }
        #expect(try await tool.run("tail", "shop.>", "--durable", "audit", "--until-end").output.isEmpty)
        #expect(try await tool.run("tail", "shop.>", "--until-end").status == 64)
        try await peer.close()
    }

    @Test func stateIsPrintedSetAndWatched() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        #expect(try await tool.run("state", "shop.total", "1").errors.contains("the server has no states"))
        let peer = try await Peer.connect(to: server)
        let values = Recorder<StoredValue>()
        try await peer.transport.watch("shop.total") { values.record($0) }
        #expect(try await tool.run("state", "shop.total").errors == "channels: there is no state shop.total\n")
        #expect(try await tool.run("state", "shop.total", "41").status == 0)
        let running = try await tool.start("state", "shop.total", "--watch", until: "watching")
        #expect(await running.output.contains("41\n"))
        #expect(try await tool.run("state", "shop.total", "-", input: "{\"a\": 1}").status == 0)
        #expect(await running.output.contains("{\"a\": 1}\n"))
        #expect(try await tool.run("state", "shop.total").output == "{\"a\": 1}\n")
        #expect(try await tool.run("state", "shop.open", "true").status == 0)
        #expect(try await tool.run("state", "shop.*").output == "shop.total {\"a\": 1}\nshop.open true\n")
        #expect(try await tool.run("state", "till.>").errors == "channels: there is no state till.>\n")
        #expect(try await tool.run("state", "shop.*", "1").status != 0)
        await values.wait(count: 2)
        try await peer.close()
        withExtendedLifetime(running) {}
    }

    @Test func respondAnswersAndPrintsRequests() async throws {
        let server = try await NATSServer()
        let tool = Tool(server)
        let running = try await tool.start("respond", "price", "4.50", "--count", "2", until: "responding")
        #expect(try await tool.run("ask", "price", "\"tea\"").output == "4.50\n")
        #expect(try await tool.run("ask", "price", "--json", input: "1").output.hasSuffix(#""data":4.50}"# + "\n"))
        #expect(await running.output.contains("status 0"))
        #expect(running.output.text.contains("price \"tea\"\nprice 1\n"))
        #expect(try await tool.run("ask", "price", "1").errors.contains("noResponder"))
        withExtendedLifetime(running) {}
    }

    @Test func helpHasExamplesAndTheExitStatuses() async throws {
        let tool = Tool(try await NATSServer())
        let help = try await tool.run("--help")
        #expect(help.status == 0 && help.output.contains("EXIT STATUS") && help.output.contains("EXAMPLES"))
        for command in ["post", "tail", "ask", "respond", "state", "streams", "dead", "forget", "top"] {
            #expect(try await tool.run(command, "--help").output.contains("EXAMPLES"))
        }
        #expect(try await tool.run("--version").output.hasPrefix("0."))
        #expect(try await tool.run("tail", "--nonsense").status == 64)
    }
}
#endif
