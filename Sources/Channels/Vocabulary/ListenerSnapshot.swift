/// One listener.
public struct ListenerSnapshot: Codable, Hashable, Sendable {
    /// How messages reach it.
    public enum Delivery: String, Codable, Sendable {
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
    public var number: UInt64
    /// The type of the owner; nil where the token owns the listener.
    public var ownerType: String?
    /// The rank of its priority.
    public var priority: Int
    /// How messages reach it.
    public var delivery: Delivery
    /// Whether it is paused.
    public var isPaused: Bool
    /// Where it was registered.
    public var registrationSite: RegistrationSite
    /// Messages handed to it, where they are counted: with a mailbox, or with diagnostics on.
    public var delivered: Int?
    /// Messages that wait in its mailbox.
    public var waiting: Int?
    /// Messages dropped because its buffer was full.
    public var dropped: Int?
    /// Messages that it missed because it was paused.
    public var missed: Int
    /// The most messages that have waited in its mailbox, where they are counted.
    public var mostWaiting: Int?
    /// Calls that threw, where they are counted.
    public var failures: Int?
    /// How long messages were on their way to it, where it is traced.
    public var waited: Histogram?
    /// How long its calls took, where it is traced.
    public var spent: Histogram?
    /// The index in ``SwitchboardSnapshot/lanes`` of its lane; nil if it is called directly or has a lane of its
    /// own.
    public var lane: Int?
}

extension ListenerSnapshot: CustomStringConvertible {
    /// One line: owner, delivery, priority, counts, site.
    public var description: String {
        var line = "\(ownerType ?? "token"), \(delivery.rawValue), priority \(Priority(priority))"
        if isPaused { line += ", paused" }
        if let delivered { line += ", \(delivered) delivered" }
        if let waiting, waiting > 0 { line += ", \(waiting) waiting" }
        if let mostWaiting, mostWaiting > 0 { line += ", at most \(mostWaiting)" }
        if let dropped, dropped > 0 { line += ", \(dropped) dropped" }
        if missed > 0 { line += ", \(missed) missed" }
        if let failures, failures > 0 { line += ", \(failures) failed" }
        if let slow = waited?.percentile(0.99) { line += ", waited \(slow)" }
        if let slow = spent?.percentile(0.99) { line += ", took \(slow)" }
        return line + ", \(registrationSite)"
    }
}
