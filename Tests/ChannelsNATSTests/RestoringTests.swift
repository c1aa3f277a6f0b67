#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// What a server has lost, and what it takes, when it is back.
@Suite(.timeLimit(.minutes(5)))
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
        let other = try await Peer.connect(to: server)
        while (try? await other.publish("soup", to: "shop.sale", durable: true)) == nil {}
        #expect(await sales.wait(count: 1).first?.text == "soup")
        try await other.close()
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
        let other = try await Peer.connect(to: server)
        while (try? await other.publish("soup", to: "shop.sale", durable: true)) == nil {}
        #expect(await sales.wait(count: 1).first?.text == "soup")
        try await other.close()
        try await peer.close()
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
}
#endif
