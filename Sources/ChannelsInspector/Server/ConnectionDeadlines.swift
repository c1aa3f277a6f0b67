#if Inspector
internal import Channels
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// The connections whose clients have not sent a complete request. If there are too many, the one that has
/// had the most time is closed, so that they never keep visitors out.
final class WaitingConnections: Sendable {
    private let most: Int
    /// In the order in which their time began. Locked, because connections have several event loops.
    private let channels = Locked<[any NIOCore.Channel]>([])

    init(most: Int) { self.most = most }

    /// Begins the time of a client.
    func begin(_ channel: any NIOCore.Channel) {
        let oldest = channels.withLock { channels in
            channels.removeAll { $0 === channel }
            channels.append(channel)
            return channels.count > most ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
    }

    func end(_ channel: any NIOCore.Channel) {
        channels.withLock { channels in channels.removeAll { $0 === channel } }
    }
}

/// Closes a connection whose client does not send a complete request in time or does not read the answer, and
/// a connection whose answer says that it closes.
///
/// The idle timeouts of SwiftNIO and Hummingbird are not enough: a connection that sends a byte of a body now
/// and then is not idle, and to Hummingbird, neither is one that does not read its answer.
///
/// Only the event loop of the connection uses its state.
final class ConnectionDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limit: TimeAmount
    private let waiting: WaitingConnections
    private let mostBody: Int
    private var deadline: Scheduled<Void>?
    private var body = 0
    /// How many written parts the system has not taken yet.
    private var unwritten = 0
    /// The number of requests read in full minus the number of answers written in full. It may be negative,
    /// because an answer may come first.
    private var unanswered = 0
    private var closesAfterAnswer = false

    /// - Parameters:
    ///   - limit: How long a request may take to arrive, and how long the client may read nothing.
    ///   - waiting: The connections of the server that wait for a request.
    ///   - mostBody: The number of bytes of a body after which the connection is closed without an answer.
    init(_ limit: Duration, _ waiting: WaitingConnections, mostBody: Int) {
        self.limit = TimeAmount(limit)
        self.waiting = waiting
        self.mostBody = mostBody
    }

    func channelActive(context: ChannelHandlerContext) {
        startTime(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        waiting.end(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: body = 0
        case .body(let bytes):
            body += bytes.readableBytes
            if body > mostBody { return context.close(promise: nil) }
        case .end:
            unanswered += 1
            startTime(context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        if case .head(let head) = part { closesAfterAnswer = head.headerFields[.connection] == "close" }
        let isLast = if case .end = part { true } else { false }
        unwritten += 1
        if unwritten == 1 { startTime(context) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            handler.unwritten -= 1
            if isLast { handler.unanswered -= 1 }
            if isLast, handler.closesAfterAnswer { context.close(mode: .output, promise: nil) }
            handler.startTime(context)
        }
        context.write(data, promise: written)
    }

    /// Starts the client's time to send a request or to read the answer, if the server is waiting for that.
    private func startTime(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        guard context.channel.isActive else { return }
        let awaitsRequest = unanswered <= 0
        if awaitsRequest { waiting.begin(context.channel) } else { waiting.end(context.channel) }
        guard awaitsRequest || unwritten > 0 else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: limit) { bound.value.close(promise: nil) }
    }
}
#endif
