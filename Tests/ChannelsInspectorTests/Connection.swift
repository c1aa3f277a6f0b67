#if Inspector
import NIOCore
import NIOPosix

/// A connection whose bytes a test chooses itself.
actor Connection {
    private let channel: any NIOCore.Channel
    private let bytes: AsyncStream<ByteBuffer>
    private var received = ""

    /// Connects to a port of the loopback interface.
    ///
    /// - Parameter most: How many bytes to take, more or less, before ``takeAll()``.
    init(to port: Int, taking most: Int = .max) async throws {
        let (bytes, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(ChannelOptions.allowRemoteHalfClosure, value: false)
            .channelOption(ChannelOptions.autoRead, value: most == .max)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Receiver(source, most))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .get()
        self.bytes = bytes
    }

    deinit { channel.close(promise: nil) }

    func close() async throws { try await channel.close() }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Takes what comes from now on.
    func takeAll() async throws { try await channel.setOption(ChannelOptions.autoRead, value: true).get() }

    /// Everything up to and including a text; nil if the other side closes before it.
    func text(upTo end: String) async -> String? {
        while true {
            if let range = received.firstRange(of: end) {
                let text = received[..<range.upperBound]
                received.removeSubrange(..<range.upperBound)
                return String(text)
            }
            guard let next = await next() else { return nil }
            received += String(buffer: next)
        }
    }

    private func next() async -> ByteBuffer? {
        var iterator = bytes.makeAsyncIterator()
        return await iterator.next(isolation: self)
    }

    /// Everything until the other side closes.
    func rest() async -> String {
        while let next = await next() { received += String(buffer: next) }
        return received
    }
}

/// All state is confined to the event loop of the connection.
private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let source: AsyncStream<ByteBuffer>.Continuation
    private var rest: Int

    init(_ source: AsyncStream<ByteBuffer>.Continuation, _ most: Int) {
        self.source = source
        rest = most
    }

    func channelActive(context: ChannelHandlerContext) { context.read() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        rest -= bytes.readableBytes
        source.yield(bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if rest > 0 { context.read() }
    }

    func channelInactive(context: ChannelHandlerContext) { source.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
