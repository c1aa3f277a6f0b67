#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// What a process of a durable name hears of what others had.
@Suite(.hangLimit)
struct TakingOverTests {
    /// Connects. What a process has not settled stays its own for the whole test, unless told otherwise.
    private func connect(
        to server: NATSServer,
        acknowledgementWait: Duration = .seconds(3_600),
        _ change: (inout NATSConfiguration) -> Void = { _ in }
    ) async throws -> Peer {
        try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.deliveries.acknowledgementWait = acknowledgementWait
            change(&$0)
        }
    }

    /// Publishes numbers, each followed by spaces.
    private func publish(_ numbers: Range<Int>, padding: Int = 0, by peer: Peer) async throws {
        for number in numbers {
            let text = String(number) + String(repeating: " ", count: padding)
            try await peer.publish(text, to: "shop.sale", durable: true)
        }
    }

    private func kitchen(_ limit: Int, bytes: Int = 64 << 20) -> TransportSubscription {
        TransportSubscription(
            to: "shop.>",
            durableName: "kitchen",
            unsettledLimit: limit,
            unsettledByteLimit: bytes
        )
    }

    /// Hears numbers, and settles none.
    private func take(_ subscription: TransportSubscription, by peer: Peer) async throws -> Recorder<InboundMessage> {
        let taken = Recorder<InboundMessage>()
        try await peer.transport.subscribe(subscription) { taken.record($0) }
        return taken
    }

    /// Hears numbers, and settles each.
    private func hear(_ subscription: TransportSubscription, by peer: Peer) async throws -> Recorder<Int> {
        let heard = Recorder<Int>()
        try await peer.transport.subscribe(subscription) { message in
            heard.record(Int(message.text.prefix { $0 != " " }) ?? -1)
            message.settle?(.acknowledged)
        }
        return heard
    }

    /// The server has processed what came before when it answers that nobody does.
    private func waitForServer(by peer: Peer) async {
        _ = try? await peer.transport.request(try message("?", to: "nobody"), timeout: .patience)
    }

    /// Fetches messages, and is gone without a word to the server, as a process that is killed.
    ///
    /// - Returns: What it fetched first.
    @discardableResult
    private func killedHolding(
        _ count: Int,
        of server: NATSServer,
        _ wait: Duration = .seconds(3_600),
        settling settled: Set<String> = []
    ) async throws -> [String] {
        var holder: Peer? = try await connect(to: server, acknowledgementWait: wait)
        let taken = try await take(kitchen(count), by: holder!)
        let first = await taken.wait(count: count)
        // More may come then.
        for message in first where settled.contains(message.text) { message.settle?(.acknowledged) }
        await waitForServer(by: holder!)
        // Its connection ends with it.
        holder = nil
        return first.map(\.text)
    }

    /// Nobody has them any more: nobody waits for the server, either.
    @Test(arguments: [256, 4, 1]) func whatAKilledProcessHadComesAtOnce(limit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        try await publish(0..<20, by: sender)
        try await killedHolding(7, of: server)
        let next = try await connect(to: server)
        let heard = try await hear(kitchen(limit), by: next)
        #expect(await heard.wait(count: 20) == Array(0..<20))
        try await next.close()
        try await sender.close()
    }

    /// A server that is asked for so many bytes forgets a message for which there is no room, if it has delivered it
    /// before.
    @Test(arguments: [1_000, 100]) func thereNeedNotBeRoomForAllThatAKilledProcessHad(byteLimit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        try await publish(0..<5, padding: 400, by: sender)
        try await killedHolding(5, of: server)
        let next = try await connect(to: server)
        let heard = try await hear(kitchen(64, bytes: byteLimit), by: next)
        #expect(await heard.wait(count: 5) == Array(0..<5))
        try await next.close()
        try await sender.close()
    }

    /// Those that the second one did not get come first then; nothing that is settled comes again.
    @Test func orderIsKeptWhereProcessesAreKilledAgainAndAgain() async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        try await publish(0..<20, by: sender)
        #expect(try await killedHolding(9, of: server) == (0..<9).map(String.init))
        #expect(try await killedHolding(3, of: server, settling: ["1"]) == ["0", "1", "2"])
        let next = try await connect(to: server)
        let heard = try await hear(kitchen(256), by: next)
        #expect(await heard.wait(count: 19) == (0..<20).filter { $0 != 1 })
        try await next.close()
        try await sender.close()
    }

    /// The server has not noticed that the process is gone, as when a machine has lost its power. It delivers the
    /// messages again only when it has waited, and newer ones at once.
    @Test(arguments: [256, 1]) func whatALostProcessHadComesBeforeWhatIsNewer(limit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        try await publish(0..<20, by: sender)
        try await killedHolding(7, of: server, .milliseconds(600))
        _ = try await sender.subscribe(to: "_CHANNELS.>")
        let next = try await connect(to: server, acknowledgementWait: .milliseconds(600))
        let heard = try await hear(kitchen(limit), by: next)
        #expect(await heard.wait(count: 20) == Array(0..<20))
        try await publish(20..<21, by: sender)
        await heard.wait(count: 21)
        try await next.close()
        try await sender.close()
    }

    /// Nobody waits for a server that has nothing to wait for.
    @Test func whatAProcessGaveBackComesAtOnce() async throws {
        let server = try await NATSServer()
        let first = try await connect(to: server)
        try await publish(0..<20, by: first)
        await (try take(kitchen(7), by: first)).wait(count: 7)
        try await first.close()
        let next = try await connect(to: server)
        let heard = try await hear(kitchen(256), by: next)
        #expect(await heard.wait(count: 20) == Array(0..<20))
        try await next.close()
    }

    /// Another process of the name lives, and shares the messages: they have no order.
    @Test func processThatJoinsOthersDoesNotWaitForTheirMessages() async throws {
        let server = try await NATSServer()
        let first = try await connect(to: server)
        let taken = try await take(kitchen(64), by: first)
        try await publish(0..<2, by: first)
        await taken.wait(count: 2)
        let second = try await connect(to: server)
        let received = try await take(kitchen(256), by: second)
        try await publish(2..<20, by: first)
        await received.wait(count: 1)
        #expect(Set(received.all.map(\.text)).isDisjoint(with: ["0", "1"]))
        try await second.close()
        try await first.close()
    }

    /// The one that lives has no room for more until it has settled those.
    @Test func processThatJoinsOthersGoesOnWhenTheyHaveSettledTheirMessages() async throws {
        let server = try await NATSServer()
        let first = try await connect(to: server)
        let taken = try await take(kitchen(2), by: first)
        try await publish(0..<20, by: first)
        await taken.wait(count: 2)
        let second = try await connect(to: server)
        let received = try await take(kitchen(256), by: second)
        for message in taken.all.prefix(2) { message.settle?(.acknowledged) }
        // The first one may take two more, and keeps them.
        await received.wait(count: 16)
        try await second.close()
        try await first.close()
    }

    // MARK: After a loss of the connection

    /// A process that hears four messages, and keeps the last one. The next two are lost on their way, and the
    /// connection with them.
    private struct Loser {
        let peer: Peer
        let network: LossyNetwork
        let received = Recorder<InboundMessage>()
    }

    private func lose(_ server: NATSServer, _ sender: Peer) async throws -> Loser {
        let network = try LossyNetwork(to: server)
        let loser = Loser(peer: try await connect(to: server) { $0.servers = [network.url] }, network: network)
        let (peer, received) = (loser.peer, loser.received)
        try await peer.transport.subscribe(kitchen(4)) { message in
            let heard = received.all.contains { $0.text == message.text }
            received.record(message)
            if heard || Int(message.text).map({ $0 > 3 }) == true { message.settle?(.acknowledged) }
        }
        try await publish(0..<6, by: sender)
        let held = await received.wait(count: 4)
        network.loseAnswers()
        // Then it asks for more, which is there.
        for message in held.prefix(3) { message.settle?(.acknowledged) }
        while try await !areLost(by: sender) {}
        network.cut()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        return loser
    }

    private struct Consumers: Decodable {
        struct Consumer: Decodable {
            struct Position: Decodable { var consumerSeq: Int }

            var delivered: Position
            var numAckPending: Int
        }

        var consumers: [Consumer]
    }

    /// Whether the server has delivered six messages to the one consumer, and three are settled.
    private func areLost(by sender: Peer) async throws -> Bool {
        let question = try message("{}", to: "$JS.API.CONSUMER.LIST.SHOP")
        let answer = try await sender.transport.request(question, timeout: .patience)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let found = try decoder.decode(Consumers.self, from: Data(answer.body))
        return found.consumers.first.map { $0.delivered.consumerSeq == 6 && $0.numAckPending == 3 } ?? false
    }

    /// Nothing has to be waited for, and what is still with its listener does not come again.
    @Test func whatWasLostWithTheConnectionComesBeforeWhatIsNewer() async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        let loser = try await lose(server, sender)
        let (peer, received) = (loser.peer, loser.received)
        try await publish(6..<20, by: sender)
        let texts = await received.wait(count: 20).map(\.text)
        #expect(texts == (0..<20).map(String.init))
        try await publish(20..<21, by: sender)
        let last = await received.wait(count: 21).last?.text
        #expect(last == "20")
        try await peer.close()
        try await sender.close()
        withExtendedLifetime(loser) {}
    }

    /// The server has delivered them, and nothing more comes until it knows. A message whose acknowledgement was lost
    /// may be heard twice.
    @Test(arguments: [1, 4]) func nothingWaitsForAcknowledgementsThatWereLostWithTheConnection(limit: Int) async throws
    {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        let network = try LossyNetwork(to: server)
        let peer = try await connect(to: server) { $0.servers = [network.url] }
        let taken = try await take(kitchen(limit), by: peer)
        try await publish(0..<10, by: sender)
        let first = await taken.wait(count: limit)
        network.loseQuestions()
        for message in first { message.settle?(.acknowledged) }
        await network.lost.wait { $0.joined().components(separatedBy: "+ACK").count > limit }
        network.cut()
        var settled = limit
        var heard: Set<String> = []
        while heard.count < 10 {
            let all = await taken.wait(count: settled + 1)
            heard = Set(all.map(\.text))
            for message in all[settled...] { message.settle?(.acknowledged) }
            settled = all.count
        }
        let order = taken.all.map(\.text).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        #expect(order == (0..<10).map(String.init))
        try await peer.close()
        try await sender.close()
        withExtendedLifetime(network) {}
    }

    /// The connection is lost again, while that comes.
    @Test func whatWasLostTwiceComesAtOnceAndBeforeWhatIsNewer() async throws {
        let server = try await NATSServer()
        let sender = try await connect(to: server)
        let loser = try await lose(server, sender)
        let (peer, received) = (loser.peer, loser.received)
        for count in 1...3 {
            await peer.events.wait { $0.filter(\.isReconnected).count >= count }
            loser.network.cut()
            await peer.events.wait { $0.filter(\.isDisconnected).count > count }
        }
        try await publish(6..<20, by: sender)
        let texts = await received.wait { Set($0.map(\.text)).count == 20 }.map(\.text)
        let first = texts.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        #expect(first == (0..<20).map(String.init))
        #expect(texts.count { $0 == "3" } == 1)
        try await peer.close()
        try await sender.close()
        withExtendedLifetime(loser) {}
    }

    /// One that lives may have been given what this one has not.
    @Test func nothingIsTakenBackWhereNobodyCanSayWhoLives() async throws {
        let deny = "permissions: { publish: { deny: \"_CHANNELS.>\" } }"
        let server = try await NATSServer(
            .init(
                configuration: """
                    authorization { users: [{ user: all, password: all, \(deny) }] }
                    no_auth_user: all
                    """
            )
        )
        let sender = try await connect(to: server)
        let loser = try await lose(server, sender)
        let (peer, received) = (loser.peer, loser.received)
        try await publish(6..<20, by: sender)
        let texts = await received.wait(count: 18).map(\.text)
        #expect(texts == ([0, 1, 2, 3] + (6..<20)).map(String.init))
        try await peer.close()
        try await sender.close()
        withExtendedLifetime(loser) {}
    }
}
#endif
