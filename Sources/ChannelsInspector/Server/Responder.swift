#if Inspector
internal import Channels
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import ServiceLifecycle

/// Answers every request. Only this type tells paths apart and sets headers.
struct Responder: HTTPResponder {
    typealias Context = BasicRequestContext

    private let feed: Feed
    private let poster: Poster
    private let rules: AccessRules
    private let token: String?
    private let bodyLimit: Int

    init(feed: Feed, poster: Poster, host: String, token: String?, bodyLimit: Int = ServerLimits().body) {
        self.feed = feed
        self.poster = poster
        self.token = token
        self.bodyLimit = bodyLimit
        rules = AccessRules(host: host, token: token)
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        do {
            let presented = request.uri.queryParameters["token"].map { String($0) }
            try rules.check(request.head, path: request.uri.path, presented: presented)
            if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimit { throw tooLarge }
            response = try await answer(request)
            if let token, let presented, Token.matches(presented, token) {
                response.headers[.setCookie] = "\(rules.cookie)=\(token); Path=/; HttpOnly; SameSite=Strict"
            }
        } catch let refusal as AccessRules.Refusal {
            response = Self.text(refusal.reason + "\n")
            response.status = refusal.status
            // Closed, because the following bytes may be the rest of a refused body.
            response.headers[.connection] = "close"
        }
        for field in Self.protection { response.headers[field.name] = field.value }
        return response
    }

    private func answer(_ request: Request) async throws -> Response {
        let path = request.uri.path
        if request.method == .post, path == "/messages" { return try await post(request) }
        if request.method == .post, path == "/tracing" { return try await trace(request) }
        guard request.method == .get else {
            throw AccessRules.Refusal(status: .methodNotAllowed, reason: "Only GET is allowed.")
        }
        if let file = PageFile.at(path) {
            return Self.response(file.type, file.bytes)
        }
        switch path {
        case "/events": return try await events(request)
        case "/channel":
            var channel = try await channel(request)
            channel.isPostable = poster.takes(channel)
            return try Self.json(channel)
        case "/picture.json":
            return try Self.json(["channels": await feed.channels()], as: "channels.json")
        case "/picture.mmd":
            return Self.text(mermaid(await feed.channels()), as: "channels.mmd")
        default: throw AccessRules.Refusal(status: .notFound, reason: "There is nothing here.")
        }
    }

    // MARK: Events

    private func events(_ request: Request) async throws -> Response {
        guard let page = await feed.open() else {
            throw AccessRules.Refusal(
                status: .serviceUnavailable,
                reason: "The maximum number of pages is open. Close one."
            )
        }
        let feed = feed
        let body = ResponseBody { writer in
            defer { withExtendedLifetime(page) {} }
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
                var last = Feed.Event()
                for await _ in feed.pictures.messages().cancelOnGracefulShutdown() {
                    let next = try await feed.event(after: last.lastEntry)
                    guard next.number > last.number else { continue }
                    last = next
                    // This suspends while the page reads nothing, and meanwhile there are newer pictures.
                    try await writer.write(next.bytes)
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }

    // MARK: Channels and messages

    private func channel(_ request: Request) async throws -> Reading.Channel {
        guard let id = request.uri.queryParameters["id"], let found = await feed.channel(String(id)) else {
            throw AccessRules.Refusal(status: .notFound, reason: "There is no such channel any more.")
        }
        return found
    }

    private func post(_ request: Request) async throws -> Response {
        let body = try await json(of: request)
        let reached = try poster.post(body, to: await channel(request))
        return try Self.json(["reached": reached])
    }

    private func trace(_ request: Request) async throws -> Response {
        // Checked although the body is empty, because a form on another site cannot send JSON.
        _ = try await json(of: request)
        guard let tracing = request.uri.queryParameters["mode"].flatMap({ Tracing(rawValue: String($0)) }) else {
            throw AccessRules.Refusal(status: .badRequest, reason: "The mode must be on or off.")
        }
        await feed.trace(tracing)
        return Response(status: .noContent)
    }

    private func json(of request: Request) async throws -> Data {
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type == "application/json" else {
            throw AccessRules.Refusal(status: .unsupportedMediaType, reason: "The body must be application/json.")
        }
        do {
            return Data(try await request.body.collect(upTo: bodyLimit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        }
    }

    private var tooLarge: AccessRules.Refusal {
        AccessRules.Refusal(status: .contentTooLarge, reason: "A body may have at most \(bodyLimit) bytes.")
    }

    // MARK: Making responses

    private static func json(_ value: some Encodable, as file: String? = nil) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = file == nil ? [] : [.prettyPrinted, .sortedKeys]
        return response("application/json", ByteBuffer(bytes: try encoder.encode(value)), as: file)
    }

    private static func text(_ text: String, as file: String? = nil) -> Response {
        response("text/plain; charset=utf-8", ByteBuffer(string: text), as: file)
    }

    /// A response; with a file name, a download.
    private static func response(_ type: String, _ bytes: ByteBuffer, as file: String? = nil) -> Response {
        var headers: HTTPFields = [.contentType: type]
        if let file { headers[.contentDisposition] = "attachment; filename=\"\(file)\"" }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: bytes))
    }

    /// The headers of every answer. The page may only run and request its own files, no other site may show
    /// it, read it or learn of it, and nothing is stored.
    private static let protection: HTTPFields = {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        fields[.xContentTypeOptions] = "nosniff"
        fields[.cacheControl] = "no-store"
        // Each `!` is safe, because the text is a token as RFC 9110 defines it.
        fields[HTTPField.Name("Referrer-Policy")!] = "no-referrer"
        fields[HTTPField.Name("Cross-Origin-Opener-Policy")!] = "same-origin"
        fields[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "same-origin"
        fields[HTTPField.Name("X-Frame-Options")!] = "DENY"
        return fields
    }()
}
#endif
