import HTTPTypes
import Hummingbird
import Logging

/// Gives each refusal a status and a reason, so that no client has to guess what went wrong.
struct Refusals<Context: RequestContext>: RouterMiddleware {
    let logger: Logger

    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws
        -> Response
    {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            throw Self.isThere(request.uri.path) ? Self.wrongMethod(request) : Self.nothingThere
        } catch let error as HTTPError {
            throw error
        } catch {
            logger.error("\(request.method) \(request.uri.path): \(error)")
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "try again")
        }
    }

    private static var nothingThere: HTTPError { HTTPError(.notFound, message: "there is nothing at this path") }

    private static func isThere(_ path: String) -> Bool {
        path == "/sales" || path == "/events" || Asset.paths.contains(path)
    }

    private static func wrongMethod(_ request: Request) -> HTTPError {
        let methods = request.uri.path == "/sales" ? "POST" : "GET, HEAD"
        return HTTPError(.methodNotAllowed, headers: [.allow: methods], message: "use \(methods)")
    }
}

/// Refuses requests that another site makes a browser send: those with a foreign `Host` (a name that was made
/// to point here) or `Origin`.
///
/// If the request target has a host, as in `GET http://evil.example/`, NIO passes on only the path, so such a
/// request is also judged by its `Host`. Clients send these to proxies; no site can make a browser send one
/// here.
struct OwnOriginOnly<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws
        -> Response
    {
        guard let authority = request.head.authority, Self.isLoopback(authority) else {
            throw HTTPError(.forbidden, message: "Host: use the address that was printed at the start")
        }
        if let origin = request.headers[.origin], origin.lowercased() != "http://\(authority.lowercased())" {
            throw HTTPError(.forbidden, message: "Origin: only the page of this server may do that")
        }
        return try await next(request, context)
    }

    private static func isLoopback(_ authority: String) -> Bool {
        // After the last colon there is a port, or the end of an IPv6 address, which is in brackets.
        let end = authority.lastIndex(of: ":").flatMap { authority.hasSuffix("]") ? nil : $0 } ?? authority.endIndex
        return ["127.0.0.1", "localhost", "[::1]"].contains(authority[..<end].lowercased())
    }
}

/// Tells the browser to run and load nothing but the page's own files.
struct ProtectiveHeaders<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws
        -> Response
    {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = """
            default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        return response
    }
}

extension HTTPField.Name {
    // These are tokens.
    fileprivate static var referrerPolicy: Self { .init("Referrer-Policy")! }
    fileprivate static var crossOriginResourcePolicy: Self { .init("Cross-Origin-Resource-Policy")! }
}
