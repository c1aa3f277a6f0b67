#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// A server that reads its configuration again, and permits other things then.
@Suite(.fewServers, .hangLimit)
struct RevokedPermissionTests {
    private static func users(denying patterns: String...) -> String {
        let denied = patterns.map { "\"\($0)\"" }.joined(separator: ", ")
        let permissions = patterns.isEmpty ? "" : ", permissions: { subscribe: { deny: [\(denied)] } }"
        return """
            authorization { users: [
                { user: till, password: right }, { user: kitchen, password: right\(permissions) }
            ] }
            """
    }

    private func makePattern(_ number: Int) throws -> ChannelPattern {
        try ChannelPattern(validating: "shop.n\(number)")
    }

    private func connect(_ user: String, to server: NATSServer) async throws -> Peer {
        try await Peer.connect(to: server) {
            $0.authentication = .password(user: user, password: "right")
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
        }
    }

    /// The server says nothing when it permits again.
    @Test func whatWasTakenAwayComesBackWhenItIsPermittedAgain() async throws {
        let server = try await NATSServer(.init(configuration: Self.users()))
        let (till, kitchen) = (try await connect("till", to: server), try await connect("kitchen", to: server))
        let sales = try await kitchen.subscribe(to: "till.sale")
        let shared = Recorder<String>()
        try await kitchen.transport.subscribe(TransportSubscription(to: "till.shared", group: "cooks")) {
            shared.record($0.text)
        }
        try await kitchen.transport.respond(to: "price") { request in
            request.reply(TransportReply(body: request.message.body))
        }
        try server.reload(Self.users(denying: "till.>", "price"))
        let subjects = ["till.sale", "till.shared", "price"]
        let reported = await kitchen.events.wait { events in
            Set(events.compactMap(\.failure?.subject)).isSuperset(of: subjects)
        }
        #expect(reported.compactMap(\.failure?.code).allSatisfy { $0 == .permissionDenied })
        // Each was tried, and refused, meanwhile.
        await server.waitForLog("Subscription Violation", times: subjects.count)

        try server.reload(Self.users())
        while sales.all.isEmpty || shared.all.isEmpty {
            try Task.checkCancellation()
            try await till.publish("soup", to: "till.sale")
            try await till.publish("rice", to: "till.shared")
            // JetStream may be away for a moment.
            _ = try? await till.askJetStream("INFO")
        }
        let question = try message("12", to: "price")
        let reply = try await retry { try await till.transport.request(question, timeout: .patience) }
        #expect(String(decoding: reply.body, as: UTF8.self) == "12")
        #expect(Set(sales.all.map(\.text)) == ["soup"])
        #expect(Set(shared.all) == ["rice"])
        // Each was told once, though it was tried more often.
        #expect(kitchen.events.all.compactMap(\.failure?.subject).sorted() == subjects.sorted())
        try await till.close()
        try await kitchen.close()
    }

    /// They are stored and acknowledged: only hearing them is not permitted any more. The subject has a word of the
    /// server's.
    @Test func messagesAreNotRefusedWhereTheirSubscriptionIs() async throws {
        let server = try await NATSServer(.init(configuration: Self.users()))
        let kitchen = try await connect("kitchen", to: server)
        _ = try await kitchen.subscribe(to: "shop.Subscription")
        let results = Recorder<BridgeError?>()
        var count = 0
        try server.reload(Self.users(denying: "shop.Subscription"))
        while !kitchen.events.all.contains(where: { $0.failure != nil }) {
            try Task.checkCancellation()
            let posted = try message("soup", to: "shop.Subscription", id: UUID().uuidString)
            try await kitchen.transport.publishDurably(posted, isRepeated: false) { results.record($0) }
            count += 1
        }
        let failures = kitchen.events.all.compactMap(\.failure)
        #expect(failures.map(\.code) == [.permissionDenied] && failures.map(\.subject) == ["shop.Subscription"])
        // JetStream may be away for a moment.
        #expect(await results.wait(count: count).allSatisfy { $0 == nil || $0?.code == .notAcknowledged })
        try await kitchen.close()
    }

    /// The C client has an old refusal to tell, so each waits for one of its own.
    @Test func subscribingIsNotHeldUpByWhatWasRefusedBefore() async throws {
        let server = try await NATSServer(.init(configuration: Self.users(denying: "till.>")))
        let kitchen = try await connect("kitchen", to: server)
        await #expect(throws: BridgeError.self) { try await kitchen.subscribe(to: "till.sale") }
        let clock = ContinuousClock()
        let time = try await clock.measure {
            try await withThrowingTaskGroup { group in
                for number in 0..<100 { group.addTask { _ = try await kitchen.subscribe(to: makePattern(number)) } }
                try await group.waitForAll()
            }
        }
        // One after the other, it was 25 seconds.
        #expect(time < .seconds(20))
        try await kitchen.close()
    }

    /// Answers, and with them durable messages and states, come to subjects of the transport's own.
    @Test func durableMessagesAndStatesGoOnWhenAnswersArePermittedAgain() async throws {
        let server = try await NATSServer(.init(configuration: Self.users()))
        let (till, kitchen) = (try await connect("till", to: server), try await connect("kitchen", to: server))
        let orders = Recorder<String>()
        try await kitchen.transport.subscribe(to: "shop.order", durableName: "kitchen") { message in
            orders.record(message.text)
            message.settle?(.acknowledged)
        }
        let totals = Recorder<String>()
        try await kitchen.transport.watch("till.total") {
            totals.record(String(decoding: $0.message.body, as: UTF8.self))
        }
        try await till.publish("0", to: "shop.order", durable: true)
        await orders.wait(count: 1)

        try server.reload(Self.users(denying: "_INBOX.>"))
        await kitchen.events.wait { $0.contains { $0.failure?.code == .permissionDenied } }
        for order in 1...3 { try await till.publish("\(order)", to: "shop.order", durable: true) }
        _ = try await till.transport.store(try message("7", to: "till.total"))
        try server.reload(Self.users())
        #expect(await orders.wait { Set($0).count == 4 }.count >= 4)
        await totals.wait { $0.contains("7") }
        try await till.close()
        try await kitchen.close()
    }
}
#endif
