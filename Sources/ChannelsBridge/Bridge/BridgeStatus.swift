/// The phase of a bridge, and why it is not ready.
///
/// ```swift
/// let watching = bridge.status.listen { status in print(status) }
/// ```
public struct BridgeStatus: Sendable, CustomStringConvertible {
    /// What a bridge is doing. Phases may be added in minor releases: keep a `default` when matching.
    public struct Phase: Hashable, Sendable, CustomStringConvertible {
        private enum Storage { case created, connecting, running, reconnecting, ending, ended }

        private let storage: Storage

        /// It has not been run yet. Posted messages are queued.
        public static let created = Phase(storage: .created)
        /// It is waiting for its broker, connecting or subscribing. Posted messages are queued.
        public static let connecting = Phase(storage: .connecting)
        /// It is connected and subscribed.
        public static let running = Phase(storage: .running)
        /// The connection is lost, and the transport is restoring it. Posted messages are queued, up to the
        /// limits of the bridge and of the transport.
        public static let reconnecting = Phase(storage: .reconnecting)
        /// It has stopped receiving. It lets listeners finish, and sends what is queued.
        public static let ending = Phase(storage: .ending)
        /// It has ended, and can be run again. Posted messages are not sent.
        public static let ended = Phase(storage: .ended)

        /// The name of the constant: `running`.
        public var description: String { "\(storage)" }
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
