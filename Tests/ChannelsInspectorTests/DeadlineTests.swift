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
        let deadlines = ConnectionDeadlines(.seconds(10), OpenConnections(most: 1), mostBody: 100)
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
