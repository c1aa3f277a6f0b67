/// One listener.
public struct ListenerSnapshot: Sendable {
    /// How messages reach it.
    public enum Delivery: String, Sendable {
        /// On the poster's thread, before the listeners.
        case interceptor
        /// On the poster's thread.
        case direct
        /// On the actor to which its closure is isolated, the main actor or another.
        case mainActor, actor
        /// On a dispatch queue.
        case queue
        /// By awaiting an async closure.
        case async
        /// Read by a sequence.
        case sequence
        /// By the listener of a pattern.
        case pattern
        /// As an async function that answers.
        case responder
    }

    /// Tells the listeners of a channel apart: a higher number was registered later.
    public let number: UInt64
    /// The type of the owner; nil where the token owns the listener.
    public let ownerType: String?
    /// The rank of its priority.
    public let priority: Int
    /// How messages reach it.
    public let delivery: Delivery
    /// Whether it is paused.
    public let isPaused: Bool
    /// Where it was registered.
    public let registrationSite: RegistrationSite
    /// Messages handed to it, where they are counted: with a mailbox, or with diagnostics on.
    public let delivered: Int?
    /// Messages that wait in its mailbox.
    public let waiting: Int?
    /// Messages dropped because its buffer was full.
    public let dropped: Int?
    /// Messages that it missed because it was paused.
    public let missed: Int
    /// The most messages that have waited in its mailbox, where they are counted.
    public let mostWaiting: Int?
    /// Calls that threw, where they are counted.
    public let failures: Int?
    /// How long messages were on their way to it, where it is traced.
    public let waited: Histogram?
    /// How long its calls took, where it is traced.
    public let spent: Histogram?
    /// The index in ``SwitchboardSnapshot/lanes`` of its lane; nil if it is called directly or has a lane of its
    /// own.
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
