#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// Three servers on loopback, of which one may go.
@Suite(.fewServers, .hangLimit)
struct ClusterTests {
    private func cluster() async throws -> [NATSServer] {
        let ports = try freePorts(6)
        return try await withThrowingTaskGroup(of: (Int, NATSServer).self) { group in
            for index in 0..<3 {
                group.addTask {
                    let options = NATSServer.Options(
                        port: ports[index],
                        clusterPort: ports[3 + index],
                        clusterPorts: Array(ports[3...]),
                        name: "server\(index)"
                    )
                    return (index, try await NATSServer(options))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    @Test func nothingAcknowledgedIsLostWhenTheLeaderIsKilled() async throws {
        let servers = try await cluster()
        let configure: (inout NATSConfiguration) -> Void = {
            $0.servers = servers.map(\.url)
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.replicas = 3
            // A new cluster elects its first leaders now, and another one when it has lost one.
            $0.requestTimeout = .patience
            $0.acknowledgementTimeout = .patience
            $0.retryInterval = .milliseconds(500)
            $0.deliveries.acknowledgementWait = .seconds(2)
        }
        let (sender, receiver) = (
            try await Peer.connect(to: servers[0], configure), try await Peer.connect(to: servers[1], configure)
        )
        let received = Recorder<String>()
        try await receiver.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        let acknowledged = Recorder<String>()
        let publishing = Task {
            for number in 0..<500 {
                try await sender.publish(String(number), to: "shop.sale", id: "id \(number)", durable: true)
                acknowledged.record(String(number))
            }
        }
        await acknowledged.wait(count: 150)
        let leader = try await leader(of: "SHOP", sender)
        try #require(servers.first { $0.options.name == leader }).kill()
        try await publishing.value
        let texts = await received.wait { Set($0).count == 500 }
        #expect(Set(acknowledged.all) == Set(texts))
        // The stream itself has each once: what was sent again was recognised.
        let stored = try await sender.askJetStream("STREAM.INFO.SHOP")
        #expect((stored["state"] as? [String: Any])?["messages"] as? Int == 500)
        try? await sender.close()
        try? await receiver.close()
        withExtendedLifetime(servers) {}
    }

    private func leader(of stream: String, _ peer: Peer) async throws -> String {
        let cluster = try #require(try await peer.askJetStream("STREAM.INFO.\(stream)")["cluster"] as? [String: Any])
        return try #require(cluster["leader"] as? String)
    }
}
#endif
