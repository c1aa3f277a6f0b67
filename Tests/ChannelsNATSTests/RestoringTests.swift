#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What a server has lost, and what it takes, when it is back.
@Suite(.fewServers, .hangLimit)
struct RestoringTests {
    /// Permissions that refuse a subject to everybody.
    private func denying(_ subject: String) -> String {
        """
        authorization { users: [{ user: all, password: all, permissions: { publish: { deny: "\(subject)" } } }] }
        no_auth_user: all
        """
    }

    @Test func bucketThatCannotBeCreatedDoesNotKeepConsumersFromBeingRestored() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.requestTimeout = .seconds(30)
        }
        let sales = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        try await peer.transport.watch("shop.total") { _ in }
        server.kill()
        try server.loseStorage()
        try await server.start(denying("$JS.API.STREAM.CREATE.KV_channels"))
        await peer.events.wait { $0.contains { $0.failure?.code == .permissionDenied } }
        try await expectSoup(in: sales, over: server)
        try await peer.close()
    }

    /// With one subscription more than the server permits, it ends each connection as soon as that is made.
    @Test func connectionsThatEndAtOnceAreMadeMoreSlowlyAndToldOnce() async throws {
        let server = try await NATSServer(.init(configuration: "max_subscriptions: 1"))
        let wait = Duration.milliseconds(250)
        let peer = try await Peer.connect(to: server) { $0.reconnectWait = wait }
        let start = ContinuousClock.now
        _ = try await peer.subscribe(to: "a")
        await peer.events.wait { $0.count(where: \.isReconnected) >= 5 }
        #expect(start.duration(to: .now) > wait * 4)
        let failures = peer.events.all.compactMap(\.failure)
        #expect(failures.count == 1 && "\(failures)".contains("maximum subscriptions exceeded"), "\(failures)")
        try? await peer.transport.close(timeout: .patience)
    }

    /// Somebody else publishes until the stream is there, and that is heard.
    private func expectSoup(in sales: Recorder<InboundMessage>, over server: NATSServer) async throws {
        let other = try await Peer.connect(to: server)
        try await retry { try await other.publish("soup", to: "shop.sale", durable: true) }
        #expect(await sales.wait(count: 1).first?.text == "soup")
        try await other.close()
    }

    /// Whatever it was to begin with: all that the stream has then is new. Another process is there before this one.
    @Test(arguments: [ReplayStart.new, .sequence(1_000)])
    func messagesOfAStreamThatHasLostAllOthersAreHeard(start: ReplayStart) async throws {
        let server = try await NATSServer()
        let shop: (inout NATSConfiguration) -> Void = { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let peer = try await Peer.connect(to: server) {
            shop(&$0)
            $0.reconnectWait = .seconds(2)
        }
        let sales = Recorder<String>()
        var subscription = TransportSubscription(to: "shop.sale", durableName: "kitchen")
        subscription.start = start
        try await peer.transport.subscribe(subscription) { message in
            sales.record(message.text)
            message.settle?(.acknowledged)
        }
        server.kill()
        try server.loseStorage()
        try await server.start()
        let other = try await Peer.connect(to: server, shop)
        for text in ["soup", "rice"] { try await other.publish(text, to: "shop.sale", durable: true) }
        #expect(await sales.wait(count: 2) == ["soup", "rice"])
        try await other.close()
        try await peer.close()
    }

    /// Settled by its number, it would be that of the message which the new stream has under this number.
    @Test(arguments: [false, true])
    func messageOfALostStreamSettlesNoMessageOfTheNextOne(isSettledWithoutAConnection: Bool) async throws {
        let server = try await NATSServer()
        let shop: (inout NATSConfiguration) -> Void = { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let peer = try await Peer.connect(to: server, shop)
        let held = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        try await peer.publish("soup", to: "shop.sale", durable: true)
        await held.wait(count: 1)
        server.kill()
        if isSettledWithoutAConnection {
            await peer.events.wait { $0.contains(where: \.isDisconnected) }
            held.all[0].settle?(.acknowledged)
        }
        try server.loseStorage()
        try await server.start()
        await peer.events.wait { $0.contains { $0.failure?.code == .messagesLost } }
        try await peer.publish("rice", to: "shop.sale", durable: true)
        let messages = await held.wait(count: 2)
        #expect(messages.map(\.text) == ["soup", "rice"] && messages.map(\.sequence) == [1, 1])
        messages[0].settle?(.acknowledged)
        try await peer.close()
        let next = try await Peer.connect(to: server, shop)
        let sales = try await next.subscribe(to: "shop.sale", durableName: "kitchen")
        #expect(await sales.wait(count: 1).map(\.text) == ["rice"])
        try await next.close()
    }

    @Test func whatIsSettledWithoutAConnectionIsSettledOnTheNext() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let held = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        try await peer.publish("soup", to: "shop.sale", durable: true)
        await held.wait(count: 1)
        // One that is killed may not have stored that it has delivered the message, and delivers it again.
        await server.stop()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        held.all[0].settle?(.acknowledged)
        try await server.start()
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        while try await peer.transport.unsettledCount(of: "kitchen", on: "shop.sale") > 0 {
            try Task.checkCancellation()
        }
        try await peer.close()
        #expect(held.count == 1)
    }

    /// It goes on where it was, also if that is where it began.
    @Test(arguments: [false, true])
    func consumerThatIsDeletedIsCreatedAgainBehindWhatWasHeard(hasHeard: Bool) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        for text in ["old", "older"] { try await peer.publish(text, to: "shop.sale", durable: true) }
        let sales = Recorder<String>()
        var subscription = TransportSubscription(to: "shop.sale", durableName: "kitchen")
        subscription.start = .new
        try await peer.transport.subscribe(subscription) { message in
            sales.record(message.text)
            message.settle?(.acknowledged)
        }
        if hasHeard {
            try await peer.publish("soup", to: "shop.sale", durable: true)
            await sales.wait(count: 1)
        }
        let names = try await peer.askJetStream("CONSUMER.NAMES.SHOP")["consumers"] as? [String]
        for name in names ?? [] { _ = try await peer.askJetStream("CONSUMER.DELETE.SHOP.\(name)") }
        try await peer.publish("rice", to: "shop.sale", durable: true)
        let expected = hasHeard ? ["soup", "rice"] : ["rice"]
        #expect(await sales.wait(count: expected.count) == expected)
        // What it had not settled would be missing.
        let events = await peer.events.wait { $0.contains { $0.failure?.code == .messagesLost } }
        let lost = events.compactMap(\.failure).first { $0.code == .messagesLost }
        let start = "message \(hasHeard ? 4 : 3)"
        #expect(lost?.detail?.contains("durable name kitchen") == true && lost?.detail?.contains(start) == true)
        try await peer.close()
    }

    @Test func streamThatCannotBeCreatedDoesNotKeepOthersFromBeingRestored() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("A", subjects: ["a.>"]), NATSStream("SHOP", subjects: ["shop.>"])]
            $0.requestTimeout = .seconds(30)
        }
        let sales = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        _ = try await peer.subscribe(to: "a.sale", durableName: "kitchen")
        server.kill()
        try server.loseStorage()
        try await server.start(denying("$JS.API.STREAM.CREATE.A"))
        try await expectSoup(in: sales, over: server)
        try await peer.close()
    }

    /// Here because somebody else's stream has some of its subjects.
    @Test func streamThatCannotBeCreatedKeepsNoOtherMessagesFromStorage() async throws {
        let server = try await NATSServer()
        let operators = try await Peer.connect(to: server) { $0.streams = [NATSStream("OPS", subjects: ["a.sale"])] }
        try await operators.publish("soup", to: "a.sale", durable: true)
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("A", subjects: ["a.>"]), NATSStream("SHOP", subjects: ["shop.>"])]
        }
        let sales = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        for text in ["soup", "rice"] { try await peer.publish(text, to: "shop.sale", durable: true) }
        // Created again in the same second.
        try await delete("SHOP", by: peer)
        try await peer.publish("tea", to: "shop.sale", durable: true)
        #expect(await sales.wait { $0.contains { $0.text == "tea" } }.count >= 1)
        try await peer.publish("rice", to: "a.sale", durable: true)
        await #expect { try await peer.publish("tea", to: "a.other", durable: true) } throws: {
            ($0 as? BridgeError)?.code == .unsupported
        }
        try await peer.close()
        try await operators.close()
    }

    // MARK: Without a connection

    /// Nobody waits for what only the connection that was lost had to be told.
    @Test func closingWithoutAConnectionWaitsForNothing() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        try await peer.transport.watch("shop.total") { _ in }
        let sales = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        for number in 0..<10 { try await peer.publish("\(number)", to: "shop.sale", durable: true) }
        // They are not settled.
        await sales.wait(count: 10)
        server.kill()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        let start = ContinuousClock.now
        try await peer.transport.close(timeout: .seconds(100))
        #expect(start.duration(to: .now) < .seconds(50))
        withExtendedLifetime(sales) {}
    }

    /// Each attempt would leave a copy behind.
    @Test func storingAgainAndAgainWithoutAConnectionTakesUpNoRoom() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.acknowledgementTimeout = .milliseconds(30) }
        let large = try message(String(repeating: "x", count: 1_000_000), to: "shop.total")
        try await retry { try await peer.transport.store(large) }
        server.kill()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        for _ in 0..<20 {
            await #expect(throws: BridgeError.self) { try await peer.transport.store(large) }
        }
        try await peer.publish(String(repeating: "x", count: 500_000), to: "shop.sale")
        try? await peer.transport.close(timeout: .zero)
    }

    /// Nothing that restores it is left to keep it busy.
    @Test func closingEndsWhatIsBeingRestored() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.requestTimeout = .seconds(100) }
        try await peer.transport.watch("shop.total") { _ in }
        server.kill()
        try server.loseStorage()
        // A server without JetStream does not answer, so restoring goes on for as long as a request may take.
        try await server.start("jetstream: disabled")
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        let start = ContinuousClock.now
        try await peer.close()
        #expect(start.duration(to: .now) < .seconds(50))
    }

    // MARK: A stream that is deleted

    private func delete(_ stream: String, by peer: Peer) async throws {
        let answer = try await peer.transport.request(
            try message("", to: "$JS.API.STREAM.DELETE.\(stream)"),
            timeout: .patience
        )
        #expect(String(decoding: answer.body, as: UTF8.self).contains("\"success\":true"))
    }

    /// Also where somebody hears the subject without a stream, so that the server does not say that nobody responds.
    @Test(arguments: [false, true]) func streamThatIsDeletedIsCreatedAgainForWhatIsPublished(
        isHeard: Bool
    ) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.retryInterval = .milliseconds(200)
            $0.acknowledgementTimeout = .patience
        }
        if isHeard { _ = try await peer.subscribe(to: "shop.sale") }
        try await peer.publish("1", to: "shop.sale", durable: true)
        try await delete("SHOP", by: peer)
        try await peer.publish("2", to: "shop.sale", durable: true)
        // As a bridge does.
        try await publishOnce("3", by: peer)
        try await delete("SHOP", by: peer)
        try await retry { try await publishOnce("4", by: peer) }
        try await peer.close()
    }

    private func publishOnce(_ text: String, by peer: Peer) async throws {
        let results = Recorder<BridgeError?>()
        try await peer.transport.publishDurably(try message(text, to: "shop.sale"), isRepeated: true) {
            results.record($0)
        }
        if let error = await results.wait(count: 1)[0] { throw error }
    }

    @Test func streamThatIsDeletedIsCreatedAgainForWhoeverHearsIt() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let sales = try await peer.subscribe(to: "shop.sale", durableName: "kitchen")
        try await delete("SHOP", by: peer)
        try await expectSoup(in: sales, over: server)
        try await peer.close()
    }

    /// Told once, however many routes hear it, and to whoever only publishes.
    @Test(arguments: [true, false]) func lostStreamIsReportedOnceWithWhatMayBeMissing(
        whileTheServerRuns: Bool
    ) async throws {
        let server = try await NATSServer()
        let shop: (inout NATSConfiguration) -> Void = { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let sender = try await Peer.connect(to: server, shop)
        let hearer = try await Peer.connect(to: server, shop)
        let sales = try await hearer.subscribe(to: "shop.sale", durableName: "kitchen")
        _ = try await hearer.subscribe(to: "shop.other", durableName: "kitchen")
        for number in 1...3 { try await sender.publish("\(number)", to: "shop.sale", durable: true) }
        await sales.wait(count: 3)
        if whileTheServerRuns {
            try await delete("SHOP", by: hearer)
        } else {
            server.kill()
            try server.loseStorage()
            try await server.start()
            for peer in [sender, hearer] { await peer.events.wait { $0.contains(where: \.isReconnected) } }
        }
        try await retry { try await sender.publish("4", to: "shop.sale", durable: true) }
        let last = await sales.wait { $0.last?.text == "4" }.last?.text
        #expect(last == "4", "\(sender.events.all), \(hearer.events.all)")
        // A route that has heard less may be the first to find it while the server runs.
        for (peer, number) in [(sender, ""), (hearer, whileTheServerRuns ? "" : "had come to 3 or more")] {
            let losses = await peer.events.wait { $0.contains { $0.failure?.code == .messagesLost } }
                .compactMap(\.failure).filter { $0.code == .messagesLost }
            #expect(losses.count == 1 && losses[0].subject == "SHOP", "\(losses)")
            #expect(losses[0].detail?.hasSuffix(number) == true, "\(losses)")
            try await peer.close()
        }
    }

    /// Once, and also to whoever only publishes: it knows what was stored.
    @Test(arguments: [false, true]) func streamFromAnOlderCopyIsReportedOnce(hears: Bool) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let sales = hears ? try await peer.subscribe(to: "shop.sale", durableName: "kitchen") : nil
        for number in 1...3 { try await publishOnce("\(number)", by: peer) }
        server.kill()
        let copy = try server.copyStorage()
        try await server.start()
        try await retry { try await publishOnce("4", by: peer) }
        for number in 5...9 { try await publishOnce("\(number)", by: peer) }
        server.kill()
        try server.restoreStorage(from: copy)
        try await server.start()
        try await retry { try await publishOnce("10", by: peer) }
        let losses = await peer.events.wait { $0.contains { $0.failure?.code == .messagesLost } }
            .compactMap(\.failure).filter { $0.code == .messagesLost }
        #expect(losses[0].detail?.contains("had come to 9 or more") == true, "\(losses)")
        if let sales { #expect(await sales.wait { $0.last?.text == "10" }.last?.text == "10") }
        server.kill()
        try await server.start()
        try await retry { try await publishOnce("11", by: peer) }
        if let sales { #expect(await sales.wait { $0.last?.text == "11" }.last?.text == "11") }
        #expect(peer.events.all.filter { $0.failure?.code == .messagesLost }.count == 1, "\(peer.events.all)")
        try await peer.close()
    }

    @Test func messageWhoseStreamIsDeletedAndNotDeclaredIsRefused() async throws {
        let server = try await NATSServer()
        let owner = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        try await owner.publish("1", to: "shop.sale", durable: true)
        let peer = try await Peer.connect(to: server) { $0.retryInterval = .milliseconds(200) }
        _ = try await peer.subscribe(to: "shop.sale")
        try await publishOnce("2", by: peer)
        try await delete("SHOP", by: peer)
        let error = await #expect(throws: BridgeError.self) {
            try await peer.publish("3", to: "shop.sale", durable: true)
        }
        #expect(error?.code == .notStored && error?.detail?.contains("no stream keeps it") == true)
        try await owner.close()
        try await peer.close()
    }
}
#endif
