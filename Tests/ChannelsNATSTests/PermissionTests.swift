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
@Suite(.hangLimit)
struct PermissionTests {
    /// The permissions that the guide Configuring NATS lists, for a bridge with everything.
    private static func user(_ name: String, tells presence: Bool = true) -> String {
        let told = presence ? ", \"_CHANNELS.SHOP.*\"" : ""
        return """
            { user: \(name), password: secret, permissions: {
                publish: { allow: [
                    "shop.>", "price", "$KV.channels.shop.>",
                    "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.SHOP", "$JS.API.STREAM.INFO.KV_channels",
                    "$JS.API.CONSUMER.DURABLE.CREATE.SHOP.*", "$JS.API.CONSUMER.INFO.SHOP.*",
                    "$JS.API.CONSUMER.MSG.NEXT.SHOP.*", "$JS.ACK.SHOP.>",
                    "$JS.API.CONSUMER.CREATE.KV_channels.*.$KV.channels.shop.>",
                    "$JS.API.CONSUMER.DELETE.KV_channels.*"\(told)
                ] }
                subscribe: { allow: ["shop.>", "price", "_INBOX_\(name).>"\(told)] }
                allow_responses: true
            } }
            """
    }

    private static func configuration(tells presence: Bool = true) -> String {
        let users = "\(user("till", tells: presence)), \(user("kitchen", tells: presence))"
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
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.sold"])]
        let admin = NATSTransport(configuration)
        try await admin.connect { _ in }
        try await admin.publish(try message("0", to: "shop.sold"), durable: true)
        try await admin.watch("shop.none") { _ in }
        try await admin.close(within: .patience)
    }

    /// Without the one for `_CHANNELS`, it only waits for longer after a crash.
    @Test(arguments: [true, false]) func bridgeNeedsNoMorePermissionsThanTheGuideLists(presence: Bool) async throws {
        let server = try await NATSServer(.init(configuration: Self.configuration(tells: presence)))
        try await makeStreams(server)
        let refusals = Recorder<Fault>()
        let tokens = Recorder<ListenerToken>()
        func run(_ user: String, _ routes: [BridgeRoute]) async throws -> (Switchboard, Task<Void, any Error>) {
            let board = Switchboard(onFault: { refusals.record($0) })
            let transport = NATSTransport(configuration(server, user))
            let bridge = Bridge(
                user,
                switchboard: board,
                transport: transport,
                routes: routes,
                configuration: .patient
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
        #expect(await kitchen.state(.total, initial: 0).next { $0 == 3 } == 3)

        let asking = NATSTransport(configuration(server, "till"))
        try await asking.connect { _ in }
        let reply = try await asking.request(try message("21", to: "price"), timeout: .patience)
        #expect(String(decoding: reply.body, as: UTF8.self) == "42")
        try await asking.close(within: .patience)

        // After an outage, too.
        server.kill()
        try await server.start()
        let again = await till[.sold].postAndWait(4)
        #expect(again.failures.isEmpty, "\(again.failures)")
        #expect(await heard.wait { $0.contains(4) }.contains(4))
        for task in [tillRuns, kitchenRuns] {
            task.cancel()
            try await task.value
        }
        #expect(refusals.all.filter { "\($0)".contains("permissionDenied") }.map { "\($0)" } == [])
        withExtendedLifetime(tokens) {}
    }

    /// At once with the permission for `_CHANNELS`; without it, after the acknowledgement wait, and nothing is refused.
    @Test(arguments: [true, false]) func whatAKilledProcessHadComesToTheNext(presence: Bool) async throws {
        let server = try await NATSServer(.init(configuration: Self.configuration(tells: presence)))
        try await makeStreams(server)
        var configuration = configuration(server, "kitchen")
        configuration.deliveries.acknowledgementWait = presence ? .seconds(3_600) : .milliseconds(600)
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
        try await next.close(within: .patience)
        #expect(events.all.allSatisfy { if case .failed = $0 { false } else { true } }, "\(events.all)")
    }

    @Test func userWithTheseNeitherManagesStreamsNorHearsOthersReplies() async throws {
        let server = try await NATSServer(.init(configuration: Self.configuration()))
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
        try await till.close(within: .patience)
    }

    /// The C client keeps one error only, and other refusals come meanwhile.
    @Test func refusedSubscriptionThrowsWhateverElseIsRefusedMeanwhile() async throws {
        let server = try await NATSServer(.init(configuration: Self.configuration()))
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
        try await till.subscribe(to: "shop.a") { _ in }
        try await till.close(within: .seconds(50))
    }

    @Test func streamThatDiffersIsReportedOnceAndStaysAsItIs() async throws {
        let server = try await NATSServer()
        func connect(_ streams: [NATSStream]) async throws -> Peer {
            try await Peer.connect(to: server) { $0.streams = streams }
        }
        var declared = NATSStream("SHOP", subjects: ["shop.>"])
        declared.ageLimit = .seconds(3_600)
        let first = try await connect([declared])
        try await first.publish("1", to: "shop.sold", durable: true)
        try await first.close()
        #expect(first.events.all.compactMap(\.failure).isEmpty)

        var changed = declared
        changed.subjects = ["shop.>", "bank.>"]
        changed.ageLimit = .seconds(60)
        changed.retention = .interest
        changed.messageLimit = 5
        let second = try await connect([changed])
        try await second.publish("2", to: "shop.sold", durable: true)
        let failures = await second.events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure)
        let text = "\(failures.first.map { "\($0)" } ?? "")"
        #expect(failures.count == 1 && failures.first?.code == .settingsDiffer, "\(failures)")
        for part in [
            "SHOP", "subjects is shop.> at the server and bank.>, shop.> in the code", "ageLimit is 3600.0 seconds",
            "retention is limits at the server and interest in the code",
            "messageLimit is unlimited at the server and 5",
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
