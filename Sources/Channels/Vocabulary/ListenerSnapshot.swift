/// One listener of a channel.
public struct ListenerSnapshot: Sendable {
    /// The way in which messages reach a listener.
    ///
    /// Ways may be added in minor releases: keep a `default` when matching.
    public struct Delivery: Hashable, Sendable, CustomStringConvertible {
        private enum Storage: String {
            case interceptor, direct, mainActor, actor, queue, async, sequence, pattern, responder
        }

        private let storage: Storage

        /// On the poster's thread, before the listeners.
        public static let interceptor = Delivery(storage: .interceptor)
        /// On the poster's thread.
        public static let direct = Delivery(storage: .direct)
        /// On the main actor, to which its closure is isolated.
        public static let mainActor = Delivery(storage: .mainActor)
        /// On another actor, to which its closure is isolated.
        public static let actor = Delivery(storage: .actor)
        /// On a dispatch queue.
        public static let queue = Delivery(storage: .queue)
        /// By awaiting an async closure.
        public static let async = Delivery(storage: .async)
        /// Read by a sequence.
        public static let sequence = Delivery(storage: .sequence)
        /// Through the listener of a pattern.
        public static let pattern = Delivery(storage: .pattern)
        /// As an async function that answers.
        public static let responder = Delivery(storage: .responder)

        /// The name of the constant: `mainActor`.
        public var description: String { storage.rawValue }
    }

    /// Identifies the listener on its channel; increases with each registration.
    package let number: UInt64
    /// The type of the owner; nil if the token owns the listener.
    public let ownerType: String?
    /// The listener's priority.
    public let priority: Priority
    /// How messages reach the listener.
    public let delivery: Delivery
    /// Whether the listener is paused.
    public let isPaused: Bool
    /// Where the listener was registered.
    public let registrationSite: CallSite
    /// The number of messages delivered, if counted: with a mailbox, on a state, or with diagnostics on.
    public let deliveredCount: Int?
    /// The number of messages in the mailbox.
    public let waitingCount: Int?
    /// The number of messages dropped because its buffer was full.
    public let droppedCount: Int?
    /// The number of messages missed while the listener was paused.
    public let missedCount: Int
    /// The most messages in the mailbox while diagnostics were on; nil if they are off.
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

extension ListenerSnapshot: CustomStringConvertible {
    /// One line: owner, delivery, priority, counts, site.
    public var description: String {
        var line = "\(ownerType ?? "token"), \(delivery), priority \(priority)"
        if isPaused { line += ", paused" }
        if let deliveredCount { line += ", \(deliveredCount) delivered" }
        let counts = [
            (waitingCount, "waiting"), (maximumWaitingCount, "waiting at most"), (droppedCount, "dropped"),
            (missedCount, "missed"), (failureCount, "failed"),
        ]
        for case (let count?, let what) in counts where count > 0 { line += ", \(count) \(what)" }
        if let slow = waitTimes?.percentile(0.99) { line += ", waited \(slow)" }
        if let slow = callTimes?.percentile(0.99) { line += ", took \(slow)" }
        return line + ", \(registrationSite)"
    }
}
