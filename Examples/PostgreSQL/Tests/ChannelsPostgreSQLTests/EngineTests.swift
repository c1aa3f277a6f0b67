import Channels
import ChannelsBridge
import ChannelsPostgreSQL
import ChannelsTesting
import Testing

/// What only this transport has to show: transactions that commit late, and connections and sessions that
/// end.
@Suite(.enabled(if: Server.shared != nil, "Examples/PostgreSQL/check starts a server"), .timeLimit(.minutes(10)))
struct EngineTests {
    private let name = "engine.n\(UInt64.random(in: .min ... .max))"
    private var pattern: ChannelPattern { get throws { try ChannelPattern(validating: name) } }

    private func message(_ text: String) throws -> TransportMessage {
        try TransportMessage(subject: name, body: Array(text.utf8))
    }

    private func hear(on transport: PostgreSQLTransport, _ durableName: String?) async throws -> Recorder<
        InboundMessage
    > {
        let heard = Recorder<InboundMessage>()
        try await transport.subscribe(to: pattern, durableName: durableName) { message in
            message.settle?(.acknowledged)
            heard.record(message)
        }
        return heard
    }

    private func connected(_ server: Server?, _ onEvent: @escaping @Sendable (TransportEvent) -> Void = { _ in })
        async throws -> PostgreSQLTransport
    {
        let transport = try #require(server).transport()
        try await transport.connect(onEvent: onEvent)
        return transport
    }

    // MARK: Positions

    /// The transaction takes its number first, but commits last, when every reader has passed that number.
    @Test func whatCommitsLateIsNotSkipped() async throws {
        let (client, late) = (try Server.shared!.client(), try Server.shared!.client())
        let transport = try await connected(.shared)
        let (durable, plain) = (try await hear(on: transport, "d"), try await hear(on: transport, nil))
        try late.run("BEGIN")
        try late.run("SELECT channels_post('\(name)', '', 'late')")
        for number in 0..<3 { try await transport.publish(message("\(number)"), durable: true) }
        try await transport.publish(message("3"), durable: false)
        _ = await (durable.first(3), plain.first(4))
        // A name that begins in between must not skip it either.
        let second = try await connected(.shared)
        let new = try await hear(on: second, "new")
        _ = await new.first(3)
        try late.run("COMMIT")
        for heard in [durable, plain, new] { await heard.wait { $0.last?.message.body == Array("late".utf8) } }
        let numbers = durable.all.compactMap(\.sequence)
        #expect(numbers.count == 4 && numbers[3] < numbers[0], "the numbers are \(numbers)")
        #expect(try client.run("SELECT count(*) FROM channels_messages WHERE subject = '\(name)'") == [["4"]])
        for transport in [transport, second] { try await transport.close(timeout: .seconds(60)) }
    }

    @Test func aPatternMatchesInTheDatabaseAsInTheProcess() async throws {
        let transport = try await connected(.shared)
        let subjects = ["a", "a.b", "a.b.c", "x+y", "x*", "xxy", "ü.b", "a.b(c)", "A.b", "$a.b", "a\\d", "a1"]
        for pattern in ["a.*", "*", ">", "a.>", "x+y", "*.b", "a.b(c)", "$a.b", "a\\d"] {
            let pattern = try ChannelPattern(validating: "\(name).\(pattern)")
            let client = try Server.shared!.client()
            for subject in subjects.compactMap({ try? TransportMessage(subject: "\(name).\($0)", body: []).subject }) {
                let found = try client.run("SELECT '\(subject)' ~ channels_expression('\(pattern.text)')") == [["t"]]
                #expect(found == pattern.matches(subject), "\(pattern) and \(subject)")
            }
        }
        try await transport.close(timeout: .seconds(60))
    }

    // MARK: Sessions

    /// The first delivery, which a listener still has, cannot settle the message any more.
    @Test func whatAKilledSessionHeldComesAgain() async throws {
        let tag = "killed-\(UInt64.random(in: .min ... .max))"
        let transport = Server.shared!.transport { $0.connection += " application_name=\(tag)" }
        try await transport.connect { _ in }
        let heard = Recorder<InboundMessage>()
        try await transport.subscribe(to: pattern, durableName: "d") { heard.record($0) }
        try await transport.publish(message("one"), durable: true)
        let first = await heard.first(1)[0]
        try Server.shared!.client().run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(tag)'"
        )
        let second = await heard.first(2)[1]
        #expect(second.deliveryCount == 2)
        first.settle?(.acknowledged)
        #expect(try await transport.unsettledCount(of: "d", on: pattern) == 1)
        second.settle?(.acknowledged)
        while try await transport.unsettledCount(of: "d", on: pattern) > 0 { await Task.yield() }
        try await transport.close(timeout: .seconds(60))
    }

    @Test func aServerThatCrashesIsWaitedForAndNothingAcknowledgedIsLost() async throws {
        let server = try Server()
        let events = Recorder<String>()
        let transport = try await connected(server) { event in
            switch event {
            case .connected: events.record("connected")
            case .disconnected: events.record("disconnected")
            case .reconnected: events.record("reconnected")
            default: events.record("\(event)")
            }
        }
        let heard = try await hear(on: transport, "d")
        for round in 0..<3 {
            try await transport.publish(message("\(round)"), durable: true)
            try server.stop()
            await events.wait { $0.count == 2 + 2 * round }
            await #expect { try await transport.publish(message("refused"), durable: true) } throws: {
                ($0 as? BridgeError)?.code == .notConnected
            }
            try server.start()
            await events.wait { $0.count == 3 + 2 * round }
        }
        await heard.wait { Set($0.map(\.message.body)).count == 3 }
        #expect(events.all == ["connected"] + (0..<3).flatMap { _ in ["disconnected", "reconnected"] })
        try await transport.close(timeout: .seconds(60))
    }

    /// Whether the server has stored the message is unknown. It must be there once, even if it is published
    /// again.
    @Test func aServerThatDoesNotAnswerIsGivenUp() async throws {
        let server = try Server()
        let (transport, events) = (server.transport { _ in }, Recorder<String>())
        try await transport.connect { event in
            if case .reconnected = event { events.record("reconnected") }
        }
        let (client, message) = (
            try server.client(), try TransportMessage(subject: name, headers: ["ce-id": "1"], body: [])
        )
        try client.run("BEGIN")
        try client.run("LOCK TABLE channels_messages")
        await #expect { try await transport.publish(message, durable: true) } throws: {
            ($0 as? BridgeError)?.code == .notAcknowledged
        }
        try client.run("COMMIT")
        await events.wait(count: 1)
        var isStored = false
        while !isStored {
            do {
                try await transport.publish(message, durable: true)
                isStored = true
            } catch let error as BridgeError where error.code.disposition == .wait { await Task.yield() }
        }
        #expect(try client.run("SELECT count(*) FROM channels_messages") == [["1"]])
        try await transport.close(timeout: .seconds(60))
    }

    @Test func whatCannotBeConnectedSaysWhetherToTryAgain() async throws {
        for (connection, code) in [
            ("host=/nowhere dbname=postgres", BridgeError.Code.notConnected),
            (Server.shared!.connection + " dbname=none", .authenticationFailed),
            (Server.shared!.connection + " user=nobody", .authenticationFailed),
        ] {
            let transport = PostgreSQLTransport(PostgreSQLConfiguration(connection: connection))
            await #expect { try await transport.connect { _ in } } throws: { ($0 as? BridgeError)?.code == code }
        }
    }

    // MARK: Transactions

    @Test func anyClientPostsWithAFunction() async throws {
        // Creates the tables.
        let other = try await connected(.shared)
        let (board, channel) = (Switchboard(), try ChannelName<[String: Int]>(validating: name))
        let bridge = Bridge(
            "d",
            switchboard: board,
            transport: Server.shared!.transport(),
            routes: [.incoming(channel, durable: true)]
        )
        let heard = Recorder<[String: Int]>(of: board[channel])
        let running = Task { try await bridge.run() }
        try Server.shared!.client().run("SELECT channels_post('\(name)', '{\"total\": 3}'::jsonb)")
        #expect(await heard.first(1) == [["total": 3]])
        running.cancel()
        _ = await running.result
        try await other.close(timeout: .seconds(60))
    }

    @Test func aTransactionOnAnotherDatabaseSettlesNothing() async throws {
        let (server, board) = (try Server(), Switchboard())
        let other = try await connected(server)
        let channel = try ChannelName<String>(validating: name)
        let own = try await connected(.shared)
        let codes = Recorder<BridgeError.Code?>()
        let bridge = Bridge(
            "d",
            switchboard: board,
            transport: Server.shared!.transport(),
            routes: [.incoming(channel, durable: true)]
        )
        let token = board[channel].posts.listen { post in
            for client in [try server.client(), try Server.shared!.client(), try Server.shared!.client()] {
                do {
                    try client.transaction { try post.settle(in: $0) }
                    codes.record(nil)
                } catch { codes.record((error as? BridgeError)?.code) }
            }
        }
        let running = Task { try await bridge.run() }
        try Server.shared!.client().transaction { try board[channel].post("one", in: $0) }
        #expect(await codes.first(3) == [.refused, nil, .refused])
        running.cancel()
        _ = await running.result
        withExtendedLifetime(token) {}
        for transport in [own, other] { try await transport.close(timeout: .seconds(60)) }
    }

    @Test func withoutATransactionNothingIsPosted() throws {
        let channel = Switchboard()[try ChannelName<String>(validating: name)]
        let client = try Server.shared!.client()
        #expect { try channel.post("one", in: client.handle) } throws: { ($0 as? BridgeError)?.code == .refused }
        withExtendedLifetime(client) {}
    }

    // MARK: Storage

    /// The numbers of its transactions mean nothing there.
    @Test func whatWasRestoredFromADumpInAnotherClusterComesOnce() async throws {
        let (one, other) = (try Server(), try Server())
        let first = try await connected(one)
        let heard = try await hear(on: first, "d")
        try await first.publish(message("settled"), durable: true)
        _ = await heard.first(1)
        while try await first.unsettledCount(of: "d", on: pattern) > 0 { await Task.yield() }
        try await first.close(timeout: .seconds(60))
        let sender = try await connected(one)
        try await sender.publish(message("waiting"), durable: true)
        try await sender.close(timeout: .seconds(60))

        try other.restore(dumpOf: one)
        let second = try await connected(other)
        let again = try await hear(on: second, "d")
        try await second.publish(message("new"), durable: true)
        let texts = await again.first(2).map { String(decoding: $0.message.body, as: UTF8.self) }
        #expect(texts == ["waiting", "new"])
        try await second.close(timeout: .seconds(60))
    }

    /// As on a disk that is full for a moment.
    @Test func whatCouldNotBeStoredForAMomentIsStoredInItsPlace() async throws {
        let (server, failures) = (try Server(), Recorder<BridgeError>())
        let transport = try await connected(server) { if case .failed(let error) = $0 { failures.record(error) } }
        let client = try server.client()
        try client.run(
            """
            CREATE TABLE disk (is_full boolean);
            CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF convert_from(NEW.body, 'UTF8') = '20' AND EXISTS (SELECT FROM disk) THEN
                        RAISE EXCEPTION 'no space left' USING ERRCODE = '53100';
                    END IF;
                    RETURN NEW;
                END $$;
            CREATE TRIGGER fill BEFORE INSERT ON channels_messages FOR EACH ROW EXECUTE FUNCTION fill();
            INSERT INTO disk VALUES (true)
            """
        )
        let heard = try await hear(on: transport, "d")
        let published = Task {
            for number in 0..<40 {
                try await transport.publishDurably(message("\(number)"), isRepeated: false) { error in
                    if let error { Issue.record(error) }
                }
            }
        }
        #expect(await failures.first(1).first?.code == .transportFailure)
        try client.run("DELETE FROM disk")
        try await published.value
        let texts = await heard.first(40).map { String(decoding: $0.message.body, as: UTF8.self) }
        #expect(texts == (0..<40).map(String.init) && failures.count == 1)
        try await transport.close(timeout: .seconds(60))
    }

    @Test func whatEveryNameHasSettledIsRemovedAfterTheRetention() async throws {
        let server = try Server()
        let transport = server.transport {
            $0.retention = .milliseconds(1)
            $0.pollInterval = .milliseconds(20)
        }
        try await transport.connect { _ in }
        _ = try await hear(on: transport, "d")
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: pattern, durableName: "held") { held.record($0) }
        for text in ["kept", "gone"] { try await transport.publish(message(text), durable: true) }
        await held.first(2).last?.settle?(.acknowledged)
        let left = "(SELECT array_agg(convert_from(body, 'UTF8')) = '{kept}' FROM channels_messages)"
        try await server.client().wait(until: left)
        held.all.first?.settle?(.acknowledged)
        try await server.client().wait(until: "NOT EXISTS (SELECT FROM channels_messages)")
        try await transport.close(timeout: .seconds(60))
    }
}
