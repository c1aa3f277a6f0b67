#if Inspector
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import ChannelsInspector

/// When a connection is closed, by a clock that the test moves.
struct DeadlineTests {
    private let channel: EmbeddedChannel

    init() throws {
        let deadlines = ConnectionDeadlines(.seconds(10), WaitingConnections(most: 1), mostBody: 100)
        channel = EmbeddedChannel(handler: deadlines)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private func receive(_ parts: HTTPRequestPart...) throws { for part in parts { try channel.writeInbound(part) } }

    private func answer(_ part: HTTPResponsePart) { channel.writeAndFlush(part, promise: nil) }

    private let head = HTTPRequestPart.head(HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/"))
    private let answerHead = HTTPResponsePart.head(HTTPResponse(status: .ok))
    private let byte = ByteBuffer(string: "x")

    @Test func aSlowRequestIsClosedHoweverOftenAByteComes() throws {
        try receive(head)
        for _ in 0..<9 {
            pass(1)
            try receive(.body(byte))
            #expect(channel.isActive)
        }
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func aConnectionThatIsKeptAliveIsClosedWhenNoRequestFollows() throws {
        for _ in 0..<2 {
            pass(9)
            try receive(head, .end(nil))
            pass(100)
            answer(answerHead)
            answer(.end(nil))
        }
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func theOldestOfTooManyConnectionsWithoutARequestIsClosed() throws {
        let waiting = WaitingConnections(most: 2)
        let channels = try (0..<4).map { index in
            let channel = EmbeddedChannel(handler: ConnectionDeadlines(.seconds(10), waiting, mostBody: 100))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
            // Its time does not begin again with half a request; and one that is being answered waits for none.
            if index < 2 { try channel.writeInbound(head) }
            if index == 1 { try channel.writeInbound(HTTPRequestPart.end(nil)) }
            return channel
        }
        #expect(channels.map(\.isActive) == [false, true, true, true])
        channels[1].writeAndFlush(answerHead, promise: nil)
        channels[1].writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        // It waits for the next one, as the newest.
        #expect(channels.map(\.isActive) == [false, true, false, true])
        try channels[3].close().wait()
        #expect(channels[1].isActive)
    }

    @Test func aStreamThatIsReadStaysOpen() throws {
        try receive(head, .end(nil))
        answer(answerHead)
        for _ in 0..<5 {
            pass(100)
            answer(.body(byte))
        }
        #expect(channel.isActive)
    }

    /// A page that reads nothing must not be kept for ever, nor what it does not read.
    @Test func aStreamThatTakesNothingIsClosed() throws {
        try receive(head, .end(nil))
        answer(answerHead)
        pass(100)
        // The system takes nothing of it.
        channel.write(HTTPResponsePart.body(byte), promise: nil)
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)
    }
}
#endif
