public import Channels

/// One listener of a channel.
public struct ListenerSnapshot: Sendable {
    /// Identifies the listener on its channel; increases with each registration.
    package let number: UInt64
    /// The type of the owner; nil if the token owns the listener.
    public let ownerType: String?
    /// The listener's priority.
    public let priority: ListenerPriority
    /// How messages reach the listener.
    public let deliveryKind: DeliveryKind
    /// Whether the listener is paused.
    public let isPaused: Bool
    /// Where the listener was registered.
    public let registrationSite: CallSite
    /// The number of messages delivered, if counted: with a mailbox, on a state, or with diagnostics on.
    public let deliveredCount: Int?
    /// The number of messages in the mailbox.
    public let waitingCount: Int?
    /// The number of messages dropped because its buffer was full, or by its `OverlappingPolicy`.
    public let droppedCount: Int?
    /// The number of messages missed while the listener was paused.
    public let missedCount: Int
    /// The largest number of messages in the mailbox while diagnostics were on; nil if they are off.
    public let maximumWaitingCount: Int?
    /// The number of calls that threw while diagnostics were on; nil if they are off.
    public let failureCount: Int?
    /// The times from posts to calls, if traced.
    public let waitTimes: Histogram?
    /// The durations of calls, if traced.
    public let callTimes: Histogram?
    /// The index of its lane in ``SwitchboardSnapshot/lanes``; nil for direct calls and unshared lanes.
    package let laneIndex: Int?
}
