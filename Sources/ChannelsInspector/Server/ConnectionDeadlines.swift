#if Inspector
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// How many connections keep the server waiting for a request. Atomic: connections have several event loops.
final class WaitingConnections: Sendable {
    /// With more of them, each may wait for a short time only: silent ones would keep visitors out.
    private let most: Int
    private let count = Atomic(0)

    init(most: Int) { self.most = most }

    /// One more waits.
    ///
    /// - Returns: Whether there are too many.
    func enter() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue > most }

    func leave() { count.wrappingSubtract(1, ordering: .relaxed) }
}

/// Closes a connection whose other side does not send a whole request in time, or takes nothing of what is
/// written, and one whose answer says so.
///
/// The idle timeout of Hummingbird is not enough: a connection that sends a byte now and then is not idle, and
/// one that reads nothing is idle for ever, since an answer is under way.
///
/// All state is confined to the event loop of the connection.
final class ConnectionDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limit: TimeAmount
    /// How long a request may take to arrive while too many connections keep the server waiting.
    private static let shortLimit = TimeAmount.seconds(1)
    private let waiting: WaitingConnections
    private var request: Scheduled<Void>?
    private var answer: Scheduled<Void>?
    /// Parts written that the system has not taken yet.
    private var unwritten = 0
    /// Requests read in full less answers written in full: an answer may come first.
    private var unanswered = 0
    private var closesAfterAnswer = false
    private let mostBody: Int
    private var body = 0

    /// - Parameters:
    ///   - limit: How long a request may take to arrive, and the other side not to take anything.
    ///   - waiting: Counts the connections for which the server waits.
    ///   - mostBody: Bytes of a body after which the connection is closed without more ado.
    init(_ limit: Duration, _ waiting: WaitingConnections, mostBody: Int) {
        self.waiting = waiting
        self.limit = TimeAmount(limit)
        self.mostBody = mostBody
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expectRequest(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        expectRequest(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: body = 0
        case .body(let bytes):
            body += bytes.readableBytes
            if body > mostBody { return context.close(promise: nil) }
        case .end:
            expectNoRequest()
            unanswered += 1
            if unanswered == 0 { expectRequest(context) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        if case .head(let head) = part { closesAfterAnswer = head.headerFields[.connection] == "close" }
        let isLast = if case .end = part { true } else { false }
        if unwritten == 0 { expectProgress(context) }
        unwritten += 1
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let closes = isLast && closesAfterAnswer
        written.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            handler.hasWritten(context)
            guard isLast else { return }
            handler.unanswered -= 1
            if closes { context.close(mode: .output, promise: nil) }
            if handler.unanswered <= 0 { handler.expectRequest(context) }
        }
        context.write(data, promise: written)
    }

    private func hasWritten(_ context: ChannelHandlerContext) {
        unwritten -= 1
        answer?.cancel()
        answer = nil
        if unwritten > 0 { expectProgress(context) }
    }

    private func expectRequest(_ context: ChannelHandlerContext) {
        guard request == nil, context.channel.isActive else { return }
        request = deadline(context, waiting.enter() ? min(limit, Self.shortLimit) : limit)
    }

    private func expectNoRequest() {
        guard let request else { return }
        request.cancel()
        self.request = nil
        waiting.leave()
    }

    private func expectProgress(_ context: ChannelHandlerContext) {
        answer?.cancel()
        answer = deadline(context, limit)
    }

    private func deadline(_ context: ChannelHandlerContext, _ limit: TimeAmount) -> Scheduled<Void> {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        return context.eventLoop.scheduleTask(in: limit) { bound.value.close(promise: nil) }
    }

    private func stop() {
        expectNoRequest()
        answer?.cancel()
        answer = nil
    }
}
#endif
