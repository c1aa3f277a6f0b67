#if Observability
public import ChannelsBridge
public import ServiceLifecycle

/// Runs a bridge as a service of swift-service-lifecycle.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [BridgeService(bridge)],
///     gracefulShutdownSignals: [.sigterm],
///     logger: logger
/// )
/// try await group.run()
/// ```
///
/// On graceful shutdown, the bridge stops receiving, sends queued messages, lets listeners finish with received ones,
/// and closes the connection, within `BridgeConfiguration.closeTimeout`. A group shuts its services down in reverse
/// order, so list a bridge before the services that post.
public struct BridgeService: Service {
    private let bridge: Bridge

    /// Creates the service of a bridge.
    public init(_ bridge: Bridge) { self.bridge = bridge }

    /// Runs the bridge until the task is cancelled or the group shuts down.
    ///
    /// - Throws: The error of `Bridge.run()`.
    public func run() async throws {
        try await cancelWhenGracefulShutdown { try await bridge.run() }
    }
}
#endif
