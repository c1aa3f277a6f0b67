#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What a process of a durable name hears of what others had.
@Suite(.timeLimit(.minutes(5)))
struct TakingOverTests {
    private func withStream(_ configuration: inout NATSConfiguration) {
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
    }

    /// What a process has not settled stays its own for the whole test.
    private func withPatientStream(_ configuration: inout NATSConfiguration) {
        withStream(&configuration)
        configuration.deliveries.acknowledgementWait = .seconds(3_600)
    }

    /// Fetches messages, and is gone without a word to the server, as a process that is killed.
    ///
    /// - Returns: What it fetched.
    @discardableResult
    private func killedHolding(
        _ count: Int,
        of server: NATSServer,
        _ wait: Duration = .seconds(3_600),
        settling settled: Set<String> = []
    ) async throws -> [String] {
        var holder: Peer? = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = wait
        }
        let taken = Recorder<InboundMessage>()
        let limited = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: count)
        try await holder?.transport.subscribe(limited) { taken.record($0) }
        await taken.wait(count: count)
        for message in taken.all where settled.contains(message.text) { message.settle?(.acknowledged) }
        // The server has processed what came before when it answers that nobody does.
        _ = try? await holder?.transport.request(try message("?", to: "nobody"), timeout: .patience)
        // Its connection ends with it.
        holder = nil
        return taken.all.map(\.text)
    }

    /// Nobody has them any more: nobody waits for the server, either.
    @Test(arguments: [256, 4, 1]) func whatAKilledProcessHadComesAtOnce(limit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server, withStream)
        for number in 0..<20 { try await sender.publish(String(number), to: "shop.sale", durable: true) }
        try await killedHolding(7, of: server)
        let next = try await Peer.connect(to: server, withPatientStream)
        let heard = Recorder<String>()
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: limit)
        try await next.transport.subscribe(subscription) { message in
            heard.record(message.text)
            message.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 20) == (0..<20).map(String.init))
        try await next.close()
        try await sender.close()
    }

    /// A server that is asked for so many bytes forgets a message for which there is no room, if it has delivered it
    /// before.
    @Test(arguments: [1_000, 100]) func thereNeedNotBeRoomForAllThatAKilledProcessHad(byteLimit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server, withStream)
        for number in 0..<5 {
            let text = "\(number)" + String(repeating: " ", count: 400)
            try await sender.publish(text, to: "shop.sale", durable: true)
        }
        try await killedHolding(5, of: server)
        let next = try await Peer.connect(to: server, withPatientStream)
        let heard = Recorder<String>()
        let subscription = TransportSubscription(
            to: "shop.>",
            durableName: "kitchen",
            unsettledLimit: 64,
            unsettledByteLimit: byteLimit
        )
        try await next.transport.subscribe(subscription) { message in
            heard.record(String(message.text.prefix(1)))
            message.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 5) == (0..<5).map(String.init))
        try await next.close()
        try await sender.close()
    }

    /// Those that the second one did not get come first then; nothing that is settled comes again.
    @Test func orderIsKeptWhereProcessesAreKilledAgainAndAgain() async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server, withStream)
        for number in 0..<20 { try await sender.publish(String(number), to: "shop.sale", durable: true) }
        #expect(try await killedHolding(9, of: server) == (0..<9).map(String.init))
        #expect(try await killedHolding(3, of: server, settling: ["1"]) == ["0", "1", "2"])
        let next = try await Peer.connect(to: server, withPatientStream)
        let received = try await next.subscribe(to: "shop.>", durableName: "kitchen")
        let heard = await received.wait(count: 19).map(\.text)
        #expect(heard == (0..<20).filter { $0 != 1 }.map(String.init), "\(heard)")
        try await next.close()
        try await sender.close()
    }

    /// The server has not noticed that the process is gone, as when a machine has lost its power. It delivers the
    /// messages again only when it has waited, and newer ones at once.
    @Test(arguments: [256, 1]) func whatALostProcessHadComesBeforeWhatIsNewer(limit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server, withStream)
        for number in 0..<20 { try await sender.publish(String(number), to: "shop.sale", durable: true) }
        try await killedHolding(7, of: server, .milliseconds(600))
        _ = try await sender.subscribe(to: "_CHANNELS.>")
        let next = try await Peer.connect(to: server) {
            withStream(&$0)
            $0.deliveries.acknowledgementWait = .milliseconds(600)
        }
        let heard = Recorder<String>()
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: limit)
        try await next.transport.subscribe(subscription) { message in
            heard.record(message.text)
            message.settle?(.acknowledged)
        }
        #expect(await heard.wait(count: 20) == (0..<20).map(String.init))
        try await sender.publish("20", to: "shop.sale", durable: true)
        await heard.wait(count: 21)
        try await next.close()
        try await sender.close()
    }

    /// Nobody waits for a server that has nothing to wait for.
    @Test func whatAProcessGaveBackComesAtOnce() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withStream)
        for number in 0..<20 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        let taken = Recorder<InboundMessage>()
        let limited = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: 7)
        try await first.transport.subscribe(limited) { taken.record($0) }
        await taken.wait(count: 7)
        try await first.close()
        let next = try await Peer.connect(to: server, withPatientStream)
        let received = try await next.subscribe(to: "shop.>", durableName: "kitchen")
        #expect(await received.wait(count: 20).map(\.text) == (0..<20).map(String.init))
        try await next.close()
    }

    /// Another process of the name lives, and shares the messages: they have no order.
    @Test func processThatJoinsOthersDoesNotWaitForTheirMessages() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withPatientStream)
        let taken = Recorder<InboundMessage>()
        let roomy = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: 64)
        try await first.transport.subscribe(roomy) { taken.record($0) }
        for number in 0..<2 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        await taken.wait(count: 2)
        let second = try await Peer.connect(to: server, withPatientStream)
        let received = try await second.subscribe(to: "shop.>", durableName: "kitchen")
        for number in 2..<20 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        await received.wait(count: 1)
        #expect(Set(received.all.map(\.text)).isDisjoint(with: ["0", "1"]))
        try await second.close()
        try await first.close()
    }

    /// The one that lives has no room for more until it has settled those.
    @Test func processThatJoinsOthersGoesOnWhenTheyHaveSettledTheirMessages() async throws {
        let server = try await NATSServer()
        let first = try await Peer.connect(to: server, withPatientStream)
        let taken = Recorder<InboundMessage>()
        let limited = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: 2)
        try await first.transport.subscribe(limited) { taken.record($0) }
        for number in 0..<20 { try await first.publish(String(number), to: "shop.sale", durable: true) }
        await taken.wait(count: 2)
        let second = try await Peer.connect(to: server, withPatientStream)
        let received = try await second.subscribe(to: "shop.>", durableName: "kitchen")
        for message in taken.all.prefix(2) { message.settle?(.acknowledged) }
        // The first one may take two more, and keeps them.
        await received.wait(count: 16)
        try await second.close()
        try await first.close()
    }
}
#endif
