import Channels
import Foundation
import Hummingbird
import Logging

/// Serves the page and its events, and accepts new sales, over HTTP.
struct Web: Sendable {
    let board: Switchboard
    let ledger: Ledger
    let events: PageEvents
    let logger: Logger

    func application(port: Int, onRunning: @escaping @Sendable (Int) -> Void) throws -> some ApplicationProtocol {
        Application(
            router: try router(),
            server: .http1(configuration: .init(additionalChannelHandlers: [SlowConnections()])),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: .maximum(512, logger: logger)
            ),
            onServerRunning: { channel in onRunning(channel.localAddress?.port ?? port) },
            logger: logger
        )
    }

    private func router() throws -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.addMiddleware {
            ProtectiveHeaders()
            Refusals(logger: logger)
            OwnOriginOnly()
        }
        for asset in try Asset.all() {
            router.get(RouterPath(asset.path)) { _, _ in asset.response }
        }
        router.get("events") { request, _ in try events.response(to: request) }
        router.post("sales") { request, _ in try await ring(request) }
        return router
    }

    /// Answers when the sale is in the ledger. The same sale gets the same answer again.
    private func ring(_ request: Request) async throws -> Response {
        let sale = try await request.sale()
        let report = await board[.rung].postAndWait(sale)
        if report.droppedCount > 0 {
            throw HTTPError(
                .tooManyRequests,
                headers: [.retryAfter: "1"],
                message: "too many sales at once; try again"
            )
        }
        if report.reachedCount == 0 {
            let reason = FraudCheck.suspicion(sale) ?? "it was stopped"
            throw HTTPError(.unprocessableContent, message: "held by the fraud check: \(reason)")
        }
        guard report.isComplete, let booking = try await ledger.booking(sale.id) else {
            throw HTTPError(
                .serviceUnavailable,
                headers: [.retryAfter: "1"],
                message: "the ledger cannot be written; try again with the same id"
            )
        }
        guard booking.sale == sale else { throw HTTPError(.conflict, message: "id: it belongs to another sale") }
        return try .json(booking, status: .created)
    }
}

extension Request {
    /// Returns the sale in the body, or throws an error that says what is wrong with it.
    fileprivate func sale() async throws -> Sale {
        let type = headers[.contentType]?.prefix { $0 != ";" }.lowercased()
        guard type?.trimmingCharacters(in: .whitespaces) == "application/json" else {
            throw HTTPError(.unsupportedMediaType, message: "send application/json")
        }
        let limit = 64 * 1024
        let tooLarge = HTTPError(.contentTooLarge, message: "at most \(limit) bytes")
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        var data = Data()
        for try await part in body {
            guard data.count + part.readableBytes <= limit else { throw tooLarge }
            data.append(contentsOf: part.readableBytesView)
        }
        let sale: Sale
        do {
            sale = try JSONDecoder().decode(Sale.self, from: data)
        } catch let error as DecodingError {
            throw HTTPError(.badRequest, message: error.reason)
        }
        guard !sale.id.hasPrefix(Bills.prefix) else {
            throw HTTPError(.badRequest, message: "id: '\(Bills.prefix)' is for the feed")
        }
        return sale
    }
}

extension DecodingError {
    /// The reason in one line, for the sender.
    fileprivate var reason: String {
        switch self {
        case .keyNotFound(let key, _): "\(key.stringValue): it is missing"
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty:
            "\(context.codingPath[0].stringValue): \(context.debugDescription)"
        case .dataCorrupted(let context) where context.codingPath.first?.stringValue == "menu":
            "menu: \(Sale.Menu.allCases.map(\.rawValue).joined(separator: " or "))"
        case .dataCorrupted(let context): context.debugDescription
        default: "the body is no JSON object"
        }
    }
}

extension Response {
    static func json(_ value: some Encodable, status: HTTPResponse.Status) throws -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(data: try JSONEncoder.sorted.encode(value)))
        )
    }
}

extension JSONEncoder {
    /// An encoder that always encodes equal values as the same text.
    static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
