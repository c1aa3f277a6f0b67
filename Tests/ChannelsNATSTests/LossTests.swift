#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What a server that is killed again and again costs. Prints the figures of the guide.
@Suite(.fewServers, .hangLimit)
struct LossTests {
    private static let count = 3_000
    private static let kills = 5

    @Test(arguments: [false, true])
    func killedServerLosesNothingAcknowledgedAndDoublesNothingElse(durable: Bool) async throws {
        let server = try await NATSServer()
        let configure: (inout NATSConfiguration) -> Void = {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.retryInterval = .milliseconds(200)
            $0.acknowledgementTimeout = .patience
            $0.deliveries.acknowledgementWait = .milliseconds(500)
        }
        let (sender, receiver) = (
            try await Peer.connect(to: server, configure), try await Peer.connect(to: server, configure)
        )
        let received = Recorder<Int>()
        try await receiver.transport.subscribe(to: "shop.sale", durableName: durable ? "kitchen" : nil) { message in
            received.record(Int(message.text) ?? -1)
            message.settle?(.acknowledged)
        }
        let taken = Recorder<Int>()
        let publishing = Task {
            for number in 0..<Self.count {
                try await sender.publish(String(number), to: "shop.sale", id: "id \(number)", durable: durable)
                taken.record(number)
                if !durable { try await confirm(sender, every: 20, number) }
            }
        }
        for kill in 1...Self.kills {
            await taken.wait(count: kill * Self.count / (Self.kills + 1))
            server.kill()
            try await server.start()
        }
        try await publishing.value
        // What is published when both are back arrives behind everything else that will.
        for peer in [sender, receiver] { await peer.events.wait { $0.filter(\.isReconnected).count >= Self.kills } }
        try await sender.publish(String(Self.count), to: "shop.sale", id: "last", durable: durable)
        let numbers = await received.wait {
            $0.contains(Self.count) && (!durable || Set($0).count == Self.count + 1)
        }

        let first = numbers.reduce(into: (seen: Set<Int>(), order: [Int]())) {
            if $0.seen.insert($1).inserted { $0.order.append($1) }
        }.order
        let lost = Self.count + 1 - first.count
        let doubled = numbers.count - first.count
        let outOfOrder = zip(first, first.dropFirst()).filter { $0 > $1 }.count
        let kind = durable ? "durable" : "core"
        print(
            "\(kind): \(Self.count) messages, \(Self.kills) kills: \(lost) lost, \(doubled) doubled, \(outOfOrder) out of order"
        )
        if durable { #expect(lost == 0) } else { #expect(doubled == 0 && outOfOrder == 0) }
        try await sender.close()
        try await receiver.close()
    }

    /// Keeps a publisher from being done before the server has been killed once: waits for an answer now and
    /// then.
    private func confirm(_ peer: Peer, every count: Int, _ number: Int) async throws {
        guard number % count == 0 else { return }
        _ = try? await peer.transport.request(try message("", to: "nobody"), timeout: .milliseconds(100))
    }
}
#endif
