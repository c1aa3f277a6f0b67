internal import Channels
internal import Synchronization

/// Answers requests from other processes with the responders of this one.
final class AnsweringWorker<Request: Codable & Sendable, Response: Codable & Sendable, Failure: Error & Codable>:
    RouteWorker
{
    private let name: String
    private let context: BridgeContext
    /// The format of the requests.
    private let format: MessageFormat
    private let channel: RequestChannel<Request, Response>
    private let queue: InboundQueue<InboundRequest>
    /// How many requests were taken from the queue, and have no answer.
    private let running = Atomic<Int>(0)
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ name: RequestName<Request, Response>, format: MessageFormat, context: BridgeContext) {
        self.format = format
        self.name = name.text
        self.context = context
        channel = context.switchboard.requests(name)
        queue = InboundQueue(
            limit: context.configuration.routeLimit,
            byteLimit: context.configuration.routeByteLimit,
            budget: context.incoming
        )
    }

    var needs: TransportCapabilities { .requests }

    var isInbound: Bool { true }

    func start() async throws {
        let subject = context.configuration.subject(of: name)
        try await context.transport.respond(to: subject) { [weak self] request in self?.take(request) }
    }

    /// Called by the transport.
    private func take(_ request: InboundRequest) {
        switch queue.add(request, bytes: request.message.byteCount) {
        case .taken: break
        case .full:
            let limit = context.configuration.routeLimit
            let detail = "\(limit) requests wait for an answer, or the bridge has filled its buffer"
            let error = BridgeError(.bufferFull, subject: name, detail: detail)
            context.lose(error, \.overflowed)
            reply(to: request, failure: "\(error)")
        case .closed: refuse(request)
        }
    }

    func work() {
        let work = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                var running = 0
                while let (request, charge, _) = await queue.next() {
                    // At the limit, one answer has to end before the next one begins.
                    if running == context.configuration.concurrentRequestLimit {
                        await group.next()
                    } else {
                        running += 1
                    }
                    self.running.wrappingAdd(1, ordering: .relaxed)
                    group.addTask {
                        defer { self.running.wrappingSubtract(1, ordering: .relaxed) }
                        await self.answer(request)
                        withExtendedLifetime(charge) {}
                    }
                }
            }
        }
        task.withLock { $0 = work }
    }

    func finish() async {
        try? await context.isDrained.wait()
        queue.close()
        await task.withLock { $0 }?.value
    }

    var isIdle: Bool { queue.count == 0 && running.load(ordering: .relaxed) == 0 }

    func abandon() {
        for request in queue.closeAndEmpty() { refuse(request) }
        task.withLock { $0 }?.cancel()
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToDeliver += queue.count
    }

    private func answer(_ request: InboundRequest) async {
        let message = request.message
        do {
            let arrival = try Arrival(headers: message.headers, body: message.body, subject: name)
            // A request of this process itself, which asked because it has no responder.
            guard arrival.envelope.source != context.source else { throw BridgeError(.noResponder, subject: name) }
            let question = try arrival.decode(Request.self, format)
            let answered = AnsweredName.current.union([ExactText(name)])
            let response = try await AnsweredName.$current.withValue(answered) {
                try await TraceContext.withCurrent(arrival.envelope.trace) { try await channel.ask(question) }
            }
            let body = try format.encode(response, for: name)
            let reply = TransportReply(headers: context.envelope(format.of(Response.self)).headers, body: body)
            // Counted first, so that whoever receives the reply finds it counted.
            context.count(\.answered)
            request.reply(reply)
        } catch let error as BridgeError where error.code == .noResponder {
            refuse(request)
        } catch let error as ChannelError where error.code == .noResponder {
            refuse(request)
        } catch let error as BridgeError where [.undecodable, .unknownType, .invalidEnvelope].contains(error.code) {
            context.lose(error, \.refused)
            reply(to: request, failure: "\(error.code)")
            await context.onDeadLetter?(DeadLetter(message: message, error: error))
        } catch let error as Failure {
            // If the error cannot be encoded, only its description is sent.
            reply(to: request, failure: "\(error)", try? format.encode(error, for: name), "\(Failure.self)")
        } catch {
            reply(to: request, failure: "\(error)")
        }
    }

    private func refuse(_ request: InboundRequest) {
        reply(to: request, failure: "\(BridgeError.Code.noResponder)")
    }

    /// - Parameters:
    ///   - body: The error itself, if the route declares its type.
    ///   - type: The name of that type.
    private func reply(to request: InboundRequest, failure: String, _ body: [UInt8]? = nil, _ type: String = "") {
        context.count(\.answered)
        var envelope = context.envelope(format)
        (envelope.type, envelope.error) = (body == nil ? "error" : type, failure)
        request.reply(TransportReply(headers: envelope.headers, body: body ?? []))
    }
}
