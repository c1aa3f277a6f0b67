import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import Storefront

/// A client that keeps the server waiting for ten seconds is disconnected. A client that waits for the server
/// is not.
struct SlowConnectionTests {
    private let patience = SlowConnections.patience
    private let moment = TimeAmount.milliseconds(1)
    private let head = HTTPRequestPart.head(.init(method: .post, scheme: nil, authority: nil, path: "/sales"))
    private let answer = HTTPResponsePart.head(.init(status: .ok))

    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: SlowConnections())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    @Test func silentConnectionIsClosed() throws {
        let channel = try connection()
        channel.embeddedEventLoop.advanceTime(by: patience - moment)
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: moment)
        #expect(!channel.isActive)
    }

    @Test func requestThatDripsIsClosedHoweverOftenSomethingComes() throws {
        let channel = try connection()
        try channel.writeInbound(head)
        for _ in 1...10 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            if channel.isActive { try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: " "))) }
        }
        #expect(!channel.isActive)
    }

    @Test func eventStreamStaysOpenInSilence() throws {
        let channel = try connection()
        try channel.writeInbound(head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeOutbound(answer)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }

    @Test func connectionThatIsKeptAliveIsClosedWithoutANextRequest() throws {
        let channel = try connection()
        for _ in 1...3 {
            try channel.writeInbound(head)
            try channel.writeInbound(HTTPRequestPart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .minutes(1))
            try channel.writeOutbound(answer)
            try channel.writeOutbound(HTTPResponsePart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: patience - moment)
            #expect(channel.isActive)
        }
        channel.embeddedEventLoop.advanceTime(by: moment)
        #expect(!channel.isActive)
    }

    @Test func requestThatWasRefusedEarlyHasNoMoreTimeThanOthers() throws {
        let channel = try connection()
        try channel.writeInbound(head)
        try channel.writeOutbound(answer)
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: patience - moment)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: moment)
        #expect(!channel.isActive)
    }

    @Test func readerThatDoesNotReadIsClosed() throws {
        let channel = try connection()
        try channel.writeInbound(head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: patience - moment)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: patience)
        #expect(channel.isActive)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: patience)
        #expect(!channel.isActive)
    }

    /// The same happens on a real server.
    @Test func serverClosesSilentConnections() async throws {
        try await withShop { _, port async throws in
            let connections = try await [Connection(port), Connection(port), Connection(port)]
            try await connections[1].send("GET / HTTP/1.1\r\nHost: loc")
            try await connections[2].send("POST /sales HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            for connection in connections { _ = await connection.waitForEnd() }
        }
    }
}
