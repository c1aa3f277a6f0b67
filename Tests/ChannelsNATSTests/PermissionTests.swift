#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

extension ChannelName<Int> {
    fileprivate static var sold: Self { "shop.sold" }
    fileprivate static var shown: Self { "shop.screen.shown" }
}

extension StateName<Int> {
    fileprivate static var total: Self { "shop.total" }
}

extension RequestName<Int, Int> {
    fileprivate static var price: Self { "price" }
}

/// What a user of the server needs, and streams that somebody else has made.
@Suite(.fewServers, .hangLimit)
struct PermissionTests {
    private static let purposes = [
        "till": [
            "messages, where it sends", "asking", "durable messages, sending", "states", "states, where it sets them",
        ],
        "kitchen": [
            "messages, where it receives", "responding", "durable messages, receiving", "dead letters, keeping",
            "states",
            "states, where it sets them",
        ],
        "mender": ["dead letters, listing, putting back and dropping"],
    ]

    /// Servers that permit what the guide lists.
    private static func configuration() throws -> String {
        let table = try PermissionTable()
        let users = try purposes.map { try table.user($0.key, $0.value) }.joined(separator: ", ")
        return "authorization { users: [ { user: admin, password: secret }, \(users) ] }"
    }

    private func configuration(_ server: NATSServer, _ user: String) -> NATSConfiguration {
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.authentication = .password(user: user, password: "secret")
        configuration.inboxPrefix = "_INBOX_\(user)"
        configuration.reconnectWait = .milliseconds(20)
        return configuration
    }

    private func makeStreams(_ server: NATSServer) async throws {
        var configuration = configuration(server, "admin")
        configuration.streams = [
            NATSStream("SHOP", subjects: ["shop.sold"]), NATSStream("DEAD", subjects: ["dead.>"]),
        ]
        let admin = NATSTransport(configuration)
        try await admin.connect { _ in }
        try await admin.publish(try message("0", to: "shop.sold"), durable: true)
        try await admin.watch("shop.none") { _ in }
        try await admin.close(timeout: .patience)
    }

    @Test func bridgeNeedsNoMorePermissionsThanTheGuideLists() async throws {
        let server = try await NATSServer(.init(configuration: try Self.configuration()))
        try await makeStreams(server)
        let watching = NATSTransport(configuration(server, "admin"))
        let used = Recorder<String>()
        let connections = Recorder<TransportEvent>()
        try await watching.connect { connections.record($0) }
        try await watching.subscribe(to: ">", durableName: nil) { used.record($0.message.subject) }
        let refusals = Recorder<Fault>()
        let tokens = Recorder<ListenerToken>()
        var settings = BridgeConfiguration.patient
        settings.deadLetters = "dead"
        func run(_ user: String, _ routes: [BridgeRoute]) async throws -> (Switchboard, Task<Void, any Error>) {
            let board = Switchboard(onFault: { refusals.record($0) })
            let transport = NATSTransport(configuration(server, user))
            let bridge = Bridge(
                user,
                switchboard: board,
                transport: transport,
                routes: routes,
                configuration: settings
            )
            tokens.record(board.requests(.price).respond(priority: .low) { $0 * 2 })
            let task = Task { try await bridge.run() }
            try await bridge.waitUntilReady()
            return (board, task)
        }
        let heard = Recorder<Int>()
        let shown = Recorder<Int>()
        let (kitchen, kitchenRuns) = try await run(
            "kitchen",
            [.incoming(.sold, durable: true), .incoming(.shown), .both(state: .total, initial: 0), .answering(.price)]
        )
        tokens.record(kitchen[.sold].listen { heard.record($0) })
        tokens.record(kitchen[.shown].listen { shown.record($0) })
        let (till, tillRuns) = try await run(
            "till",
            [.outgoing(.sold, durable: true), .outgoing(.shown), .both(state: .total, initial: 0)]
        )
        let report = await till[.sold].postAndWait(1)
        #expect(report.failures.isEmpty, "\(report.failures)")
        till[.shown].post(2)
        let state = till.state(.total, initial: 0)
        state.set(3)
        #expect(await heard.wait { $0.contains(1) }.contains(1))
        #expect(await shown.wait(count: 1) == [2])
        #expect(await kitchen.state(.total, initial: 0).first { $0 == 3 } == 3)

        let asking = NATSTransport(configuration(server, "till"))
        try await asking.connect { _ in }
        let reply = try await asking.request(try message("21", to: "price"), timeout: .patience)
        #expect(String(decoding: reply.body, as: UTF8.self) == "42")
        try await asking.close(timeout: .patience)

        // The kitchen does not understand it, and it is put back as it is.
        try await watching.publish(try message("{}", to: "shop.sold"), durable: true)
        await used.wait { $0.contains("dead.shop.sold") }
        let box = DeadLetterBox("dead", configuration: settings)
        #expect(try await box.letters(over: NATSTransport(configuration(server, "mender"))).count == 1)
        #expect(try await box.putBack(over: NATSTransport(configuration(server, "mender")), atMost: 1) == 1)
        #expect(try await box.letters(over: NATSTransport(configuration(server, "mender"))).isEmpty)

        // After an outage, too.
        server.kill()
        try await server.start()
        // It hears what follows.
        await connections.wait { $0.contains(where: \.isReconnected) }
        let again = await till[.sold].postAndWait(4)
        #expect(again.failures.isEmpty, "\(again.failures)")
        #expect(await heard.wait { $0.contains(4) }.contains(4))
        for task in [tillRuns, kitchenRuns] {
            task.cancel()
            try await task.value
        }
        #expect(refusals.all.filter { "\($0)".contains("permissionDenied") }.map { "\($0)" } == [])
        // All of it is needed: a consumer is deleted when its watch ends.
        let table = try PermissionTable()
        let permitted = try Self.purposes.values.flatMap { try table.rows($0) }.flatMap(\.publish)
        for subject in Set(permitted) {
            let pattern = try ChannelPattern(validating: subject.replacing("$KV.channels.shop.>", with: ">"))
            await used.wait { $0.contains { pattern.matches($0) } }
        }
        try await watching.close(timeout: .patience)
        withExtendedLifetime(tokens) {}
    }

    @Test func whatAKilledProcessHadComesToTheNext() async throws {
        let server = try await NATSServer(.init(configuration: try Self.configuration()))
        try await makeStreams(server)
        var configuration = configuration(server, "kitchen")
        configuration.deliveries.acknowledgementWait = .milliseconds(600)
        var killed: NATSTransport? = NATSTransport(configuration)
        let taken = Recorder<InboundMessage>()
        try await killed?.connect { _ in }
        try await killed?.subscribe(to: "shop.sold", durableName: "kitchen") { taken.record($0) }
        await taken.wait(count: 1)
        killed = nil
        let next = NATSTransport(configuration)
        let (heard, events) = (Recorder<InboundMessage>(), Recorder<TransportEvent>())
        try await next.connect { events.record($0) }
        try await next.subscribe(to: "shop.sold", durableName: "kitchen") { heard.record($0) }
        // The server's count of deliveries is not exact after a connection has ended.
        #expect(await heard.wait(count: 1).first?.text == taken.all.first?.text)
        try await next.close(timeout: .patience)
        #expect(events.all.allSatisfy { if case .failed = $0 { false } else { true } }, "\(events.all)")
    }

    /// And not by the subject of each acknowledgement.
    @Test func refusedAcknowledgementsAreNamedByTheirRoute() async throws {
        let server = try await NATSServer(
            .init(
                configuration: """
                    authorization { users: [
                        { user: admin, password: secret }
                        { user: kitchen, password: secret, permissions: { publish: { deny: "$JS.ACK.>" } } }
                    ] }
                    """
            )
        )
        try await makeStreams(server)
        let (kitchen, events) = (NATSTransport(configuration(server, "kitchen")), Recorder<TransportEvent>())
        try await kitchen.connect { events.record($0) }
        try await kitchen.subscribe(to: "shop.sold", durableName: "kitchen") { $0.settle?(.acknowledged) }
        let failure = await events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure).first
        #expect(failure?.code == .permissionDenied && failure?.subject == "shop.sold")
        #expect(failure?.detail?.contains("the durable name kitchen") == true, "\(String(describing: failure))")
        try await kitchen.close(timeout: .patience)
    }

    @Test func userWithTheseNeitherManagesStreamsNorHearsOthersReplies() async throws {
        let server = try await NATSServer(.init(configuration: try Self.configuration()))
        try await makeStreams(server)
        let events = Recorder<TransportEvent>()
        let till = NATSTransport(configuration(server, "till"))
        try await till.connect { events.record($0) }
        for subject in [
            "$JS.API.STREAM.DELETE.SHOP", "$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.UPDATE.SHOP",
            "$JS.API.STREAM.PURGE.SHOP", "$JS.API.STREAM.MSG.GET.SHOP", "$JS.API.CONSUMER.DELETE.SHOP.kitchen",
            "bank.sold", "_INBOX_kitchen.x", "$KV.channels.bank.total",
        ] {
            let error = await #expect(throws: BridgeError.self) {
                try await till.request(try message("{}", to: subject), timeout: .patience)
            }
            #expect(error?.code == .permissionDenied, "\(subject): \(String(describing: error))")
        }
        for pattern: ChannelPattern in ["_INBOX_kitchen.>", "_INBOX.>", "$JS.>", ">"] {
            let error = await #expect(throws: BridgeError.self) {
                try await till.subscribe(to: pattern) { _ in }
            }
            #expect(error?.code == .permissionDenied, "\(pattern)")
        }
        try await till.close(timeout: .patience)
    }

    /// The C client keeps one error only, and other refusals come meanwhile.
    @Test func refusedSubscriptionThrowsWhateverElseIsRefusedMeanwhile() async throws {
        let server = try await NATSServer(.init(configuration: try Self.configuration()))
        let till = NATSTransport(configuration(server, "till"))
        try await till.connect { _ in }
        for number in 0..<100 {
            let publishing = Task {
                for _ in 0..<5 { try await till.publish(try message("{}", to: "bank.sold"), durable: false) }
            }
            let error = await #expect(throws: BridgeError.self) {
                try await till.subscribe(to: "_INBOX_kitchen.>") { _ in }
            }
            #expect(error?.code == .permissionDenied, "\(number)")
            try await publishing.value
        }
        // What is permitted is not mistaken for it.
        try await till.subscribe(to: "_INBOX_till.a") { _ in }
        try await till.close(timeout: .seconds(50))
    }

    @Test func streamThatDiffersIsReportedOnceAndStaysAsItIs() async throws {
        let server = try await NATSServer()
        func connect(_ streams: [NATSStream]) async throws -> Peer {
            try await Peer.connect(to: server) { $0.streams = streams }
        }
        var declared = NATSStream("SHOP", subjects: ["shop.>"])
        declared.limits.age = .seconds(3_600)
        let first = try await connect([declared])
        try await first.publish("1", to: "shop.sold", durable: true)
        try await first.close()
        #expect(first.events.all.compactMap(\.failure).isEmpty)

        var changed = declared
        changed.subjects = ["shop.>", "bank.>"]
        changed.limits.age = .seconds(60)
        changed.retention = .interest
        changed.limits.messages = 5
        let second = try await connect([changed])
        try await second.publish("2", to: "shop.sold", durable: true)
        let failures = await second.events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure)
        let text = "\(failures.first.map { "\($0)" } ?? "")"
        #expect(failures.count == 1 && failures.first?.code == .settingsDiffer, "\(failures)")
        for part in [
            "SHOP", "subjects is shop.> at the server and bank.>, shop.> in the code", "limits.age is 3600.0 seconds",
            "retention is limits at the server and interest in the code",
            "limits.messages is unlimited at the server and 5",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
        // It is not told again at each connection.
        server.kill()
        try await server.start()
        await second.events.wait { $0.contains(where: \.isReconnected) }
        try await second.publish("3", to: "shop.sold", durable: true)
        #expect(second.events.all.compactMap(\.failure).filter { $0.code == .settingsDiffer }.count == 1)
        try await second.close()

        let third = try await connect([declared])
        let stored = try await third.subscribe(to: "shop.>", durableName: "all")
        #expect(await stored.wait(count: 3).map(\.text) == ["1", "2", "3"])
        #expect(third.events.all.compactMap(\.failure).isEmpty)
        try await third.close()
    }
}
#endif
