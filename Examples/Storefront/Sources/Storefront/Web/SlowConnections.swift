import NIOCore
import NIOHTTPTypes

/// Closes a connection that keeps the server waiting for a complete request, or does not read what it is
/// sent.
///
/// An event stream may be silent for any length of time, because then the client is waiting.
final class SlowConnections: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    static let patience = TimeAmount.seconds(10)

    // Only the connection's event loop uses these.
    private var requests = 0
    private var responses = 0
    private var awaitedRequest: Scheduled<Void>?
    private var awaitedReader: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        // A small buffer, so that what a slow page has not read waits here, where newer data replaces it.
        context.channel.setOption(ChannelOptions.socketOption(.so_sndbuf), value: 64 * 1024).assumeIsolated()
            .whenComplete { _ in }
        if context.channel.isActive { awaitRequest(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        awaitRequest(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) {
            requests += 1
            // Now the client is waiting, unless it was refused before it had sent everything.
            if requests > responses { awaitedRequest?.cancel() }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            responses += 1
            if responses >= requests { awaitRequest(context) }
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        awaitedReader?.cancel()
        if !context.channel.isWritable { awaitedReader = close(context, in: Self.patience) }
        context.fireChannelWritabilityChanged()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        awaitedRequest?.cancel()
        awaitedReader?.cancel()
    }

    private func awaitRequest(_ context: ChannelHandlerContext) {
        awaitedRequest?.cancel()
        awaitedRequest = close(context, in: Self.patience)
    }

    private func close(_ context: ChannelHandlerContext, in time: TimeAmount) -> Scheduled<Void> {
        let channel = context.channel
        return context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
