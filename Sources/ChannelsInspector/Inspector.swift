#if Inspector
public import Channels
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
public import ServiceLifecycle

/// Serves a live web page that shows who posts on a switchboard and who listens.
///
/// ```swift
/// try await Inspector(board).run()   // Inspector: http://127.0.0.1:7411/
/// ```
///
/// It is for development: anyone who can open the page sees every name, owner and recorded message of the
/// switchboard.
///
/// ## Behavior
///
/// - While no page is open, nothing is counted, and only the idle server runs. While one is open, every post
///   is counted, and traced unless the page switches tracing off. The program's own `diagnostics` are not
///   affected.
/// - A post never waits for a page. A page receives at most two snapshots a second. A slower page receives only the
///   newest one, and is told how many it missed.
/// - It answers only requests for its own host names and from its own pages, so that no other site can read
///   it through the visitor's browser. Interfaces other than loopback also require a token.
/// - At most 32 pages are open at a time. A connection is closed if it does not send a complete request
///   within ten seconds, or does not read the answer for ten seconds. If more than 64 connections have not
///   sent a request, the oldest is closed. Bodies over 64 kB are refused.
public struct Inspector: Service {
    let board: Switchboard
    let host: String
    let port: Int
    let token: String?
    let postable: [any (Decodable & Sendable).Type]
    let redacted: [any Any.Type]
    let announce: @Sendable (_ address: String) -> Void
    var limits = ServerLimits()

    /// Creates an inspector. It accepts connections once you call `run()`.
    ///
    /// - Parameters:
    ///   - board: The switchboard to show.
    ///   - host: The interface to listen on: an address, or a name that resolves to one.
    ///   - port: The port to listen on; 0 for any that is free.
    ///   - token: The token that a visitor must present, as `?token=` in the address or as a bearer token.
    ///     Interfaces other than loopback require a token, and have a random one by default.
    ///   - postable: The types of messages that may be posted from the page as JSON. None by default.
    ///   - redacted: Types whose values are hidden in messages, as with
    ///     `Switchboard.Diagnostics.trace(keeping:redacting:)`.
    ///   - announce: Called with the address of the page, including the token, once the page can be opened.
    ///     By default, the address is printed.
    public init(
        _ board: Switchboard,
        host: String = "127.0.0.1",
        port: Int = 7411,
        token: String? = nil,
        posting postable: [any (Decodable & Sendable).Type] = [],
        redacting redacted: [any Any.Type] = [],
        announce: (@Sendable (_ address: String) -> Void)? = nil
    ) {
        self.board = board
        self.host = host
        self.port = port
        self.token = token ?? (Host.isLoopback(host) ? nil : Token.random())
        self.postable = postable
        self.redacted = redacted
        self.announce =
            announce
            ?? { address in
                print("Inspector: \(address)")
                // Otherwise the line would stay in a buffer if the output is a file or a pipe.
                fflush(nil)
            }
    }

    /// Serves the page until the task is cancelled, or until a graceful shutdown of the service group it runs
    /// in.
    ///
    /// When it ends, it closes the pages, and waits at most ten seconds for running requests.
    ///
    /// - Throws: An error if it cannot listen, because the port is in use or the host does not belong to this
    ///   machine.
    public func run() async throws {
        let feed = Feed(Watch(board, redacting: redacted), limits: limits)
        let waiting = WaitingConnections(most: limits.connections / 2)
        let deadlines: @Sendable () -> ConnectionDeadlines = { [limits] in
            // Twice the limit above which a body is refused, so that the client still receives the reason.
            ConnectionDeadlines(limits.silence, waiting, mostBody: 2 * limits.body)
        }
        // Silent, because its lines would mix with the program's.
        let logger = Logger(label: "channels.inspector") { _ in SwiftLogNoOpLogHandler() }
        let application = Application(
            responder: Responder(feed: feed, poster: Poster(board, postable), host: host, token: token),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [deadlines()],
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10,
                        maxHeaderListSize: 32 << 10,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: .init(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)
            ),
            onServerRunning: { [token, host, announce] channel in
                announce(Host.address(host, port: channel.localAddress?.port ?? 0, token: token))
            },
            logger: logger
        )
        // Not cancelled, but shut down: a cancelled server drops the connections that no task handles yet, at
        // which SwiftNIO ends the process.
        let group = ServiceGroup(services: [application], logger: logger)
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await Task { try await group.run() }.value
        } onCancelOrGracefulShutdown: {
            Task { await group.triggerGracefulShutdown() }
        }
    }
}
#endif
