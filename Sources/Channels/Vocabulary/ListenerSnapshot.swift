/// One listener of a channel.
public struct ListenerSnapshot: Sendable {
    /// The way in which messages reach a listener.
    public enum Delivery: String, Sendable {
        /// On the poster's thread, before the listeners.
        case interceptor
        /// On the poster's thread.
        case direct
        /// On the actor to which its closure is isolated: the main actor or another.
        case mainActor, actor
        /// On a dispatch queue.
        case queue
        /// By awaiting an async closure.
        case async
        /// Read by a sequence.
        case sequence
        /// Through the listener of a pattern.
        case pattern
        /// As an async function that answers.
        case responder
    }

    /// Identifies the listener on its channel; increases with each registration.
    public let number: UInt64
    /// The type of the owner; nil if the token owns the listener.
    public let ownerType: String?
    /// The rank of its priority.
    public let priority: Int
    /// The way in which messages reach it.
    public let delivery: Delivery
    /// Whether it is paused.
    public let isPaused: Bool
    /// Where it was registered.
    public let registrationSite: RegistrationSite
    /// The number of messages handed to it, if counted: it has a mailbox, or diagnostics are on.
    public let delivered: Int?
    /// The number of messages queued in its mailbox.
    public let waiting: Int?
    /// The number of messages dropped because its buffer was full.
    public let dropped: Int?
    /// The number of messages that it missed while it was paused.
    public let missed: Int
    /// The longest its mailbox has been while diagnostics were on; nil if they are off.
    public let mostWaiting: Int?
    /// The number of calls that threw while diagnostics were on; nil if they are off.
    public let failures: Int?
    /// The times that messages took to reach it, if they are traced.
    public let waited: Histogram?
    /// The times that its calls took, if they are traced.
    public let spent: Histogram?
    /// The index of its lane in ``SwitchboardSnapshot/lanes``; nil for direct calls and unshared lanes.
    public let lane: Int?
}

extension ListenerSnapshot: CustomStringConvertible {
    /// One line: owner, delivery, priority, counts, site.
    public var description: String {
        var line = "\(ownerType ?? "token"), \(delivery.rawValue), priority \(Priority(priority))"
        if isPaused { line += ", paused" }
        if let delivered { line += ", \(delivered) delivered" }
        let counts = [
            (waiting, "waiting"), (mostWaiting, "waiting at most"), (dropped, "dropped"), (missed, "missed"),
            (failures, "failed"),
        ]
        for case (let count?, let what) in counts where count > 0 { line += ", \(count) \(what)" }
        if let slow = waited?.percentile(0.99) { line += ", waited \(slow)" }
        if let slow = spent?.percentile(0.99) { line += ", took \(slow)" }
        return line + ", \(registrationSite)"
    }
}
