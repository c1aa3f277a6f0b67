#if Inspector
public import Channels
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
public import ServiceLifecycle

/// A web page that shows who posts on a switchboard and who hears it, while it happens.
///
/// ```swift
/// try await Inspector(board).run()   // Inspector: http://127.0.0.1:7411/
/// ```
///
/// It is for development: whoever may open the page sees every name, owner and, if they are recorded, every
/// message of the switchboard.
///
/// ## Behavior
///
/// - Nothing is counted, and nothing runs but the server that waits, while no page is open. While one is, every post
///   is counted, and traced unless that is switched off on the page. When the last page has closed, what the program
///   records itself remains.
/// - A post never waits for a page. Pages get at most two pictures a second; a page that is slower than that
///   gets the newest and is told how many it missed.
/// - Only names of the loopback interface are answered, and only to pages of the inspector itself, so that no
///   other site can read it through the visitor's browser. On any other interface, a token is needed too.
/// - At most 32 pages are served at a time. A connection that does not send a whole request within ten seconds,
///   or takes nothing of an answer for ten seconds, is closed; bodies over 64 kB are refused.
public struct Inspector: Service {
    let board: Switchboard
    let host: String
    let port: Int
    let token: String?
    let postable: [any (Decodable & Sendable).Type]
    let redacted: [any Any.Type]
    let announce: @Sendable (_ address: String) -> Void
    var limits = ServerLimits()

    /// Creates an inspector. It listens once it runs.
    ///
    /// - Parameters:
    ///   - board: The switchboard to show.
    ///   - host: The interface to listen on: an address, or a name that resolves to one.
    ///   - port: The port to listen on; 0 for any that is free.
    ///   - token: What a visitor must present, as `?token=` in the address or as a bearer token. On an interface
    ///     other than loopback a token is required: without one here, a random one is used.
    ///   - postable: The types of messages that may be posted from the page, as JSON. None by default.
    ///   - redacted: Types whose values are not shown in messages, see `Diagnostics.trace(keeping:redacting:)`.
    ///   - announce: Called with the address of the page, including the token, when it can be opened. By default
    ///     the address is printed.
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
                // Where the output is a file or a pipe, it would wait for more.
                fflush(nil)
            }
    }

    /// Serves the page until the task is cancelled, or until a graceful shutdown of the service group it runs in.
    ///
    /// Pages are closed then. A visitor in the middle of a request, or who takes nothing of an answer, is waited for
    /// until the time of that connection has passed, ten seconds at most.
    ///
    /// - Throws: What kept it from listening: the port is in use, or the host is not one of this machine.
    public func run() async throws {
        let feed = Feed(Watch(board, redacting: redacted), limits: limits)
        let open = OpenConnections(most: limits.connections / 2)
        let deadlines: @Sendable () -> ConnectionDeadlines = { [limits] in
            // Twice what is refused in words, so that the words arrive.
            ConnectionDeadlines(limits.silence, open, mostBody: 2 * limits.body)
        }
        // Silent: what it says would mix with what the program says.
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
