#if Inspector
public import Channels
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
public import ServiceLifecycle

/// Serves a web page that shows live who posts on a switchboard and who listens.
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
/// - A post never waits for a page. A page receives at most two snapshots a second; a slower page receives
///   the newest, with the number it missed.
/// - It answers only requests for its own names and from its own pages, so that no other site can read it
///   through the visitor's browser. Interfaces other than loopback also require a token.
/// - At most 32 pages are served at a time. A connection that does not send a complete request within ten
///   seconds, or does not read the answer for ten seconds, is closed, as is the oldest of more than 64 that
///   have not sent one; bodies over 64 kB are refused.
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
    ///     Interfaces other than loopback require one, which is random by default.
    ///   - postable: The types of messages that may be posted from the page, as JSON. None by default.
    ///   - redacted: Types whose values are hidden in messages, as by
    ///     `Switchboard.Diagnostics.trace(keeping:redacting:)`.
    ///   - announce: Called with the address of the page, including the token, once it can be opened. Prints
    ///     the address by default.
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
                // If the output is a file or a pipe, it would be buffered.
                fflush(nil)
            }
    }

    /// Serves the page until the task is cancelled, or until a graceful shutdown of the service group it runs
    /// in.
    ///
    /// Then it closes the pages, and waits at most ten seconds for running requests.
    ///
    /// - Throws: An error if it cannot listen: the port is in use, or the host does not belong to this
    ///   machine.
    public func run() async throws {
        let feed = Feed(Watch(board, redacting: redacted), limits: limits)
        let waiting = WaitingConnections(most: limits.connections / 2)
        let deadlines: @Sendable () -> ConnectionDeadlines = { [limits] in
            // Twice the limit that is refused with a message, so that the message arrives.
            ConnectionDeadlines(limits.silence, waiting, mostBody: 2 * limits.body)
        }
        // Silent: its lines would mix with the program's.
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
        // A server that is cancelled drops the connections that no task handles yet, at which SwiftNIO ends the
        // process. So it is not cancelled, but shut down.
        let group = ServiceGroup(services: [application], logger: logger)
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await Task { try await group.run() }.value
        } onCancelOrGracefulShutdown: {
            Task { await group.triggerGracefulShutdown() }
        }
    }
}
#endif
