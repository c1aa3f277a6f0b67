/// The phase of a bridge, and why it is not ready.
///
/// ```swift
/// let watching = bridge.status.listen { status in print(status) }
/// ```
public struct BridgeStatus: Sendable, CustomStringConvertible {
    /// What a bridge is doing.
    public enum Phase: Hashable, Sendable {
        /// It has not been run yet. Posted messages are queued.
        case created
        /// It waits for its broker, connects, or subscribes. Posted messages are queued.
        case connecting
        /// It is connected and subscribed.
        case running
        /// The connection is lost, and the transport is restoring it. Posted messages are queued, up to the
        /// limits of the bridge and of the transport.
        case reconnecting
        /// It has stopped receiving, and sends queued messages.
        case ending
        /// It has ended, and may be run again. Posted messages are not sent.
        case ended
    }

    /// What the bridge is doing.
    public let phase: Phase
    /// The reason, if something failed: why the last attempt to connect failed, why the connection was lost,
    /// or what `run()` threw.
    public let reason: BridgeError?

    /// Creates a status, for tests of code that listens to one.
    public init(_ phase: Phase, reason: BridgeError? = nil) {
        self.phase = phase
        self.reason = reason
    }

    /// Whether the bridge carries messages.
    public var isReady: Bool { phase == .running }

    /// One line: `connecting: notConnected on "till"`.
    public var description: String {
        reason.map { "\(phase): \($0)" } ?? "\(phase)"
    }
}
