internal import Channels
internal import Synchronization

/// Forwards requests to another process if this one has no responder.
final class AskingWorker<Request: Codable & Sendable, Response: Codable & Sendable, Failure: Error & Codable>:
    RouteWorker
{
    private let token: ListenerToken

    init(_ name: RequestName<Request, Response>, format: MessageFormat, context: BridgeContext) {
        let asker = Asker<Request, Response, Failure>(name: name.text, context: context, format: format)
        // The lowest priority, so that responders of this process come first.
        token = context.switchboard.requests(name).respond(priority: .last) { request in try await asker.ask(request) }
    }

    var needs: TransportCapabilities { .requests }

    func finish() async { token.cancel() }

    /// Whoever asks waits for the answer, or its time, beside the bridge.
    var isIdle: Bool { true }

    func abandon() { token.cancel() }
}

/// The responder of an asking route.
private struct Asker<Request: Codable & Sendable, Response: Codable & Sendable, Failure: Error & Codable>: Sendable {
    let name: String
    let context: BridgeContext
    let format: MessageFormat

    func ask(_ request: Request) async throws -> Response {
        // A request from another process is not forwarded, because it could circulate endlessly.
        guard !AnsweredName.current.contains(ExactText(name)) else { throw noResponder(nil) }
        guard context.isReady.isOpen, context.isConnected.load(ordering: .relaxed) else {
            throw BridgeError(
                .notConnected,
                subject: name,
                detail: "the bridge \(quoted(context.name)) is not connected"
            )
        }
        do {
            let body = try format.encode(request, for: name)
            var envelope = context.envelope(format)
            envelope.trace = TraceContext.current
            let message = try context.message(body, envelope.headers, to: name)
            let reply = try await context.transport.request(message, timeout: context.configuration.requestTimeout)
            let response = try read(reply)
            context.count(\.asked)
            return response
        } catch let error as BridgeError where error.code == .noResponder {
            throw noResponder(error)
        } catch let error as BridgeError where error.code == .timedOut {
            // The error that `ask` throws if the responder is in this process.
            let detail = "no reply arrived from another process within \(context.configuration.requestTimeout)"
            throw ChannelError(.timedOut, name: name, description: "\(kind) on '\(name)': \(detail)")
        } catch  where error is CancellationError || error is ChannelError || error is Failure {
            throw error
        } catch {
            throw BridgeError.from(error, subject: name)
        }
    }

    private func read(_ reply: TransportReply) throws -> Response {
        let arrival = try Arrival(headers: reply.headers, body: reply.body, subject: name)
        guard let error = arrival.envelope.error else {
            return try arrival.decode(Response.self, format.of(Response.self))
        }
        context.count(\.asked)
        let process = arrival.envelope.source ?? "another process"
        if error == "\(BridgeError.Code.noResponder)" {
            throw BridgeError(.noResponder, subject: name, detail: "in \(quoted(process))")
        }
        // An error of another type, or one that this process cannot decode, arrives as its description.
        if arrival.envelope.type != nil, let failure = try? arrival.decode(Failure.self, format.of(Failure.self)) {
            throw failure
        }
        throw BridgeError(.remoteFailure, subject: name, detail: "\(quoted(process)) says \(quoted(error))")
    }

    private var kind: String { "a RequestChannel<\(Request.self), \(Response.self)>" }

    private func noResponder(_ error: BridgeError?) -> ChannelError {
        let detail = error?.detail.map { " (\($0))" } ?? ""
        return ChannelError(
            .noResponder,
            name: name,
            description: "nobody responds on '\(name)', \(kind), in this process or another\(detail)"
        )
    }
}

/// The names of the requests from other processes that a task is answering.
enum AnsweredName {
    @TaskLocal static var current: Set<ExactText> = []
}
