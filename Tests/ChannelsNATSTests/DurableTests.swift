#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What is stored by JetStream before it counts as published.
@Suite(.hangLimit)
struct DurableTests {
    private func withStream(_ configuration: inout NATSConfiguration) {
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
    }

    /// What a process has not settled stays its own for the whole test.
    private func withPatientStream(_ configuration: inout NATSConfiguration) {
        withStream(&configuration)
        configuration.deliveries.acknowledgementWait = .seconds(3_600)
    }

    @Test func durableMessageWaitsForAReceiverThatComesLater() async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server, withStream)
        for number in 0..<10 { try await sender.publish(String(number), to: "shop.sale", durable: true) }
        try await sender.close()
        let receiver = try await Peer.connect(to: server, withStream)
        let received = try await receiver.subscribe(to: "shop.*", durableName: "kitchen")
        let messages = await received.wait(count: 10)
        #expect(messages.map(\.text) == (0..<10).map(String.init))
        #expect(messages.allSatisfy { $0.deliveryCount == 1 })
        for message in messages { message.settle?(.acknowledged) }
        #expect(messages.allSatisfy { $0.settle != nil })
        try await receiver.close()
    }

    @Test func settledMessagesDoNotComeAgainAndUnsettledOnesDo() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withStream)
        let received = try await first.subscribe(to: "shop.>", durableName: "kitchen")
        for number in 0..<4 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        let messages = await received.wait(count: 4)
        try #require(messages.count == 4)
        messages[0].settle?(.acknowledged)
        messages[1].settle?(.acknowledged)
        messages[2].settle?(.terminated)
        // The fourth goes back when this one closes, at once and not only when the server has waited.
        try await first.close()

        let second = try await Peer.connect(to: server, withStream)
        let again = try await second.subscribe(to: "shop.>", durableName: "kitchen")
        try await second.publish("4", to: "shop.sale", durable: true)
        let rest = await again.wait(count: 2)
        #expect(Set(rest.map(\.text)) == ["3", "4"])
        try await second.close()
    }

    /// However long its listener takes: else another process of the name would handle it, too.
    @Test func messageThatIsHeldDoesNotComeAgainAsLongAsTheProcessLives() async throws {
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

    @Test func messageThatCannotBeReadIsReportedAndKeepsNobodyWaiting() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.unsettledLimit = 1
        }
        let settlements = try await peer.subscribe(to: "$JS.ACK.>")
        let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
        try publishRaw(headers: "broken:\r\n", "x", to: "shop.sale", of: server)
        try await peer.publish("whole", to: "shop.sale", durable: true)
        #expect(await received.wait(count: 1).map(\.text) == ["whole"])
        #expect(await settlements.wait(count: 1).first?.text == "+TERM")
        await peer.events.wait { $0.contains { $0.failure?.code == .invalidEnvelope } }
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

    @Test func retriedMessageComesAgainAfterItsDelayAndNotBefore() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withStream)
        let times = Recorder<ContinuousClock.Instant>()
        try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            times.record(.now)
            message.settle?(message.deliveryCount < 4 ? .retry(after: .milliseconds(100)) : .acknowledged)
        }
        try await peer.publish("x", to: "shop.sale", durable: true)
        let found = await times.wait(count: 4)
        for (earlier, later) in zip(found, found.dropFirst()) {
            #expect(earlier.duration(to: later) >= .milliseconds(99))
        }
        try await peer.close()
    }

    @Test func messageThatNobodyCanSettleAnyMoreComesAgainWhenTheServerHasWaited() async throws {
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

    @Test func processesOfOneNameShareTheMessagesAndAnotherNameGetsItsOwn() async throws {
        let server = try await NATSServer()
        let (first, second, other) = (
            try await Peer.connect(to: server, withStream), try await Peer.connect(to: server, withStream),
            try await Peer.connect(to: server, withStream)
        )
        let shared = Recorder<String>()
        for peer in [first, second] {
            try await peer.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
                shared.record(message.text)
                message.settle?(.acknowledged)
            }
        }
        let own = try await other.subscribe(to: "shop.>", durableName: "display")
        for number in 0..<200 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        #expect(Set(await shared.wait(count: 200)).count == 200)
        let ownCount = await own.wait(count: 200).count
        #expect(ownCount == 200)
        #expect(shared.all.count == 200)
        for peer in [first, second, other] { try await peer.close() }
    }

    @Test func subjectThatNoStreamKeepsIsUnsupported() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server, withStream)
        let published = await #expect(throws: BridgeError.self) {
            try await peer.publish("x", to: "bank.sale", durable: true)
        }
        #expect(published?.code == .unsupported)
        let subscribed = await #expect(throws: BridgeError.self) {
            try await peer.subscribe(to: "bank.>", durableName: "kitchen")
        }
        #expect(subscribed?.code == .unsupported)
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
            stream.messageLimit = 2
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

    /// A name that goes away and comes back finds its place: what ends a subscription does not end its
    /// consumer.
    @Test func closingKeepsThePlaceOfTheName() async throws {
        let server = try await NATSServer()
        for round in 0..<3 {
            let peer = try await Peer.connect(to: server, withStream)
            let received = try await peer.subscribe(to: "shop.>", durableName: "kitchen")
            try await peer.publish(String(round), to: "shop.sale", durable: true)
            let messages = await received.wait(count: 1)
            #expect(messages.map(\.text) == [String(round)])
            messages.first?.settle?(.acknowledged)
            try await peer.close()
        }
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
            unsettledLimit: 64,
            unsettledByteLimit: byteLimit
        )
        try await peer.transport.subscribe(subscription) { message in
            heard.record(String(message.text.prefix(1)))
            message.settle?(message.deliveryCount == 1 ? .retry(after: .milliseconds(20)) : .acknowledged)
        }
        let texts = await heard.wait(count: 16)
        #expect(texts.sorted() == (0..<16).map { String($0 / 2) })
        try await peer.close()
    }

    @Test func requestToASubjectThatAStreamKeepsGetsTheReplyOfTheResponder() async throws {
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
