#if NATS
import Channels
import ChannelsBridge
import ChannelsTesting
import Foundation
import Testing

@testable import ChannelsNATS

/// What is stored by JetStream before it counts as published.
@Suite(.fewServers, .hangLimit)
struct DurableTests {
    private func withStream(_ configuration: inout NATSConfiguration) {
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
    }

    /// What a process has not settled stays its own for the whole test.
    private func withPatientStream(_ configuration: inout NATSConfiguration) {
        withStream(&configuration)
        configuration.deliveries.acknowledgementWait = .seconds(3_600)
    }

    /// However long its listener takes: else another process of the name would handle it, too.
    @Test func heldMessageDoesNotComeAgainWhileTheProcessLives() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = .milliseconds(4_500)
        }
        let settlements = try await peer.subscribe(to: "$JS.ACK.>")
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        try await peer.publish("slow", to: "shop.sale", durable: true)
        let message = try #require(await received.first(1).first)
        // Three in each wait: more than the time has passed.
        let said = await settlements.wait(count: 4).map(\.text)
        #expect(said.allSatisfy { $0 == "+WPI" })
        message.settle?(.acknowledged)
        await settlements.wait { $0.last?.text == "+ACK" }
        try await peer.publish("next", to: "shop.sale", durable: true)
        #expect(await received.wait(count: 2).map(\.text) == ["slow", "next"])
        #expect(received.all.allSatisfy { $0.deliveryCount == 1 })
        try await peer.close()
    }

    @Test func streamOfInterestKeepsWhatSomebodyHasNotSettled() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.streams[0].retention = .interest
        }
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        let office = try await peer.subscribe(to: "shop.>", durableName: "office")
        for number in 0..<3 { try await peer.publish("\(number)", to: "shop.sale", durable: true) }
        for message in await received.wait(count: 3) { message.settle?(.acknowledged) }
        for message in await office.wait(count: 3).prefix(2) { message.settle?(.acknowledged) }
        // Closing gives the third back.
        try await peer.close()
        let later = try await Peer.connect(to: server, withStream)
        let rest = try await later.subscribe(to: "shop.>", durableName: "office")
        #expect(await rest.wait(count: 1).map(\.text) == ["2"])
        let newcomer = try await later.subscribe(to: "shop.>", durableName: "newcomer")
        #expect(await newcomer.wait(count: 1).map(\.text) == ["2"])
        try await later.close()
    }

    /// The messages in it are gone; what comes after flows as before.
    @Test func durableMessagesFlowAgainAfterTheServerHasLostItsStreams() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.streams[0].storage = .memory
        }
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        try await peer.publish("before", to: "shop.sale", durable: true)
        try #require(await received.first(1).first).settle?(.acknowledged)
        server.kill()
        try await server.start()
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        try await peer.publish("after", to: "shop.sale", durable: true)
        #expect(await received.wait(count: 2).map(\.text) == ["before", "after"])
        try await peer.close()
    }

    private func kitchen(_ limit: Int) -> TransportSubscription {
        TransportSubscription(to: "shop.>", durableName: "kitchen", prefetchLimit: limit, prefetchByteLimit: 1 << 20)
    }

    /// Whether another process of the name is there before it is killed, or comes after that.
    @Test(arguments: [false, true]) func whatAKilledProcessHadComesAgainAfterTheWait(inAGroup: Bool) async throws {
        let server = try await NATSServer()
        let shop: (inout NATSConfiguration) -> Void = {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = .milliseconds(600)
        }
        let next = try await Peer.connect(to: server, shop)
        for number in 0..<10 { try await next.publish("\(number)", to: "shop.sale", durable: true) }
        var killed: Peer? = try await Peer.connect(to: server, shop)
        let taken = Recorder<InboundMessage>()
        try await killed?.transport.subscribe(kitchen(3)) { taken.record($0) }
        await taken.wait(count: 3)
        // Its connection ends with it, without a word to the server.
        if !inAGroup { killed = nil }
        let heard = Recorder<String>()
        try await next.transport.subscribe(kitchen(256)) { message in
            heard.record(message.text)
            message.settle?(.acknowledged)
        }
        if inAGroup {
            await heard.wait(count: 7)
            killed = nil
        }
        #expect(Set(await heard.wait(count: 10)) == Set((0..<10).map(String.init)))
        try await next.close()
        withExtendedLifetime(killed) {}
    }

    /// Neither if the transport is released without having been closed.
    @Test func aHandlerThatKeepsMessagesDoesNotKeepItsConnection() async throws {
        let server = try await NATSServer()
        var peer: Peer? = try await Peer.connect(to: server, withStream)
        weak var connection: NATSConnection?
        connection = try peer?.transport.session.connection
        let taken = Recorder<InboundMessage>()
        for number in 0..<3 { try await peer?.publish("\(number)", to: "shop.sale", durable: true) }
        try await peer?.transport.subscribe(kitchen(3)) { taken.record($0) }
        await taken.wait(count: 3)
        peer = nil
        await wait(for: connection) { $0 == nil }
        #expect(taken.count == 3)
    }

    /// Nobody waits for a server that has nothing to wait for.
    @Test func whatAProcessGaveBackComesAtOnce() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withPatientStream)
        for number in 0..<20 { try await first.publish("\(number)", to: "shop.sale", durable: true) }
        let taken = Recorder<InboundMessage>()
        try await first.transport.subscribe(kitchen(7)) { taken.record($0) }
        await taken.wait(count: 7)
        try await first.close()
        let next = try await Peer.connect(to: server, withPatientStream)
        let heard = Recorder<String>()
        try await next.transport.subscribe(kitchen(256)) { message in
            heard.record(message.text)
            message.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 20) == (0..<20).map(String.init))
        try await next.close()
    }

    /// Also where its last request was on its way for longer than a request lives.
    @Test func whatAProcessGaveBackComesAtOnceThoughTheServerIsLate() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withPatientStream)
        for number in 0..<5 { try await first.publish("\(number)", to: "shop.sale", durable: true) }
        let taken = try await first.subscribe(to: "shop.sale", durableName: "kitchen")
        await taken.wait(count: 5)
        server.pause()
        // Two requests end meanwhile, as far as the process knows.
        try await Task.sleep(for: PullState.requestLife * 2)
        async let closing: Void = first.close()
        server.resume()
        try await closing
        let next = try await Peer.connect(to: server, withPatientStream)
        let start = ContinuousClock.now
        let heard = try await next.subscribe(to: "shop.sale", durableName: "kitchen")
        #expect(await heard.wait(count: 5).map(\.text) == (0..<5).map(String.init))
        #expect(start.duration(to: .now) < .patience / 2)
        try await next.close()
    }

    /// What was on its way when the connection broke comes again, and what waited for its acknowledgement is settled.
    @Test func nothingIsLostWithAConnection() async throws {
        let server = try await NATSServer()
        let network = try LossyNetwork(to: server)
        let shop: (inout NATSConfiguration) -> Void = {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = .milliseconds(600)
        }
        let sender = try await Peer.connect(to: server, shop)
        let peer = try await Peer.connect(to: server) {
            shop(&$0)
            $0.servers = [network.url]
        }
        let taken = Recorder<InboundMessage>()
        try await peer.transport.subscribe(kitchen(4)) { taken.record($0) }
        for number in 0..<4 { try await sender.publish("\(number)", to: "shop.sale", durable: true) }
        let first = await taken.wait(count: 4)
        network.loseQuestions()
        for message in first { message.settle?(.acknowledged) }
        await network.lost.wait { $0.joined().components(separatedBy: "+ACK").count > 4 }
        network.cut()
        for number in 4..<10 { try await sender.publish("\(number)", to: "shop.sale", durable: true) }
        var settled = 4
        while Set(taken.all.map(\.text)).count < 10 {
            try Task.checkCancellation()
            let all = await taken.wait(count: settled + 1)
            for message in all[settled...] { message.settle?(.acknowledged) }
            settled = all.count
        }
        try await peer.close()
        try await sender.close()
        withExtendedLifetime(network) {}
    }

    /// Two services use one name by mistake: the second one does not change what the first one relies on.
    @Test func durableNameThatDiffersIsReportedOnceAndStaysAsItIs() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.pendingLimit = 64
            $0.deliveries.acknowledgementWait = .seconds(5)
        }
        _ = try await first.subscribe(to: "shop.>", durableName: "kitchen")
        let second = try await Peer.connect(to: server, withStream)
        _ = try await second.subscribe(to: "shop.>", durableName: "kitchen")
        let failures = await second.events.wait { $0.contains { $0.failure != nil } }.compactMap(\.failure)
        #expect(failures.count == 1 && failures[0].code == .settingsDiffer, "\(failures)")
        for part in ["kitchen", "acknowledgementWait is 5.0 seconds at the server and 8.0", "pendingLimit is 64"] {
            #expect("\(failures)".contains(part), "\(part) in \(failures)")
        }
        let consumers = try await first.askJetStream("CONSUMER.LIST.SHOP")["consumers"] as? [[String: Any]]
        let settings = consumers?.first?["config"] as? [String: Any]
        #expect(settings?["max_ack_pending"] as? Int == 64 && settings?["ack_wait"] as? Int == 5_000_000_000)
        #expect(first.events.all.compactMap(\.failure).isEmpty)
        try await second.close()
        try await first.close()
    }

    @Test func messageThatNobodyCanSettleComesAgainAfterTheWait() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = .milliseconds(150)
        }
        let counts = Recorder<Int>()
        // Keeps the number and lets go of the message.
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { counts.record($0.deliveryCount) }
        try await peer.publish("x", to: "shop.sale", durable: true)
        #expect(await counts.wait(count: 3).prefix(3) == [1, 2, 3])
        try await peer.close()
    }

    @Test func messagePublishedTwiceWithOneIdentifierIsStoredOnce() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withStream)
        for _ in 0..<3 { try await peer.publish("once", to: "shop.sale", id: "one", durable: true) }
        try await peer.publish("last", to: "shop.sale", id: "two", durable: true)
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        let texts = await received.wait(count: 2).map(\.text)
        #expect(texts == ["once", "last"])
        try await peer.close()
    }

    @Test func subjectThatNoStreamKeepsIsNotStored() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withStream)
        let published = await #expect(throws: BridgeError.self) {
            try await peer.publish("x", to: "bank.sale", durable: true)
        }
        #expect(published?.code == .notStored)
        let subscribed = await #expect(throws: BridgeError.self) {
            try await peer.subscribe(to: "bank.>", durableName: "kitchen")
        }
        #expect(subscribed?.code == .notStored)
        try await peer.close()
    }

    @Test func serverWithoutJetStreamIsUnsupported() async throws {
        let server = try await NATSServer(.init(jetStream: false))
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.requestTimeout = .seconds(5)
        }
        let error = await #expect(throws: BridgeError.self) {
            try await peer.publish("x", to: "shop.sale", durable: true)
        }
        #expect(error?.code == .unsupported)
        try await peer.publish("x", to: "shop.sale")
        try await peer.close()
    }

    @Test func fullStreamRefusesInsteadOfForgetting() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            var stream = NATSStream("SHOP", subjects: ["shop.>"])
            stream.limits.messages = 2
            $0.streams = [stream]
        }
        for number in 0..<2 { try await peer.publish(String(number), to: "shop.sale", durable: true) }
        let error = await #expect(throws: BridgeError.self) {
            try await peer.publish("2", to: "shop.sale", durable: true)
        }
        #expect(error?.code == .bufferFull)
        #expect(error?.description.contains("maximum messages exceeded") == true)
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        #expect(await received.wait(count: 2).map(\.text) == ["0", "1"])
        try await peer.close()
    }

    /// A server that is asked for so many bytes forgets a message for which there is no room, if it has delivered it
    /// before.
    @Test(arguments: [1_000, 100]) func largeMessageThatIsReturnedComesAgain(byteLimit: Int) async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withPatientStream)
        for number in 0..<8 {
            let text = "\(number)" + String(repeating: " ", count: 400)
            try await peer.publish(text, to: "shop.sale", durable: true)
        }
        let heard = Recorder<String>()
        let subscription = TransportSubscription(
            to: "shop.>",
            durableName: "kitchen",
            prefetchLimit: 64,
            prefetchByteLimit: byteLimit
        )
        try await peer.transport.subscribe(subscription) { message in
            heard.record(String(message.text.prefix(1)))
            message.settle?(message.deliveryCount == 1 ? .retry(after: .milliseconds(20)) : .acknowledged)
        }
        let texts = await heard.wait(count: 16)
        #expect(texts.sorted() == (0..<16).map { String($0 / 2) })
        try await peer.close()
    }

    @Test func requestToASubjectOfAStreamGetsTheRespondersReply() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withStream)
        try await peer.publish("makes the stream", to: "shop.sale", durable: true)
        try await peer.transport.respond(to: "shop.price") { $0.reply(TransportReply(body: [7])) }
        for _ in 0..<20 {
            let reply = try await peer.transport.request(try message("?", to: "shop.price"), timeout: .patience)
            #expect(reply.body == [7])
        }
        try await peer.close()
    }
}
#endif
