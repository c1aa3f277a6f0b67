/// The rank of a listener. Listeners with higher rank run first; those with equal rank, in the order of
/// registration.
public struct ListenerPriority: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    /// The rank: any integer.
    public var rawValue: Int

    /// Creates a priority with any rank.
    public init(_ rawValue: Int) { self.rawValue = rawValue }

    /// Creates a priority from a literal, as in `priority: 7`.
    public init(integerLiteral value: Int) { rawValue = value }

    /// Runs after listeners with normal priority: -100.
    public static let low = ListenerPriority(-100)
    /// The default: 0.
    public static let normal = ListenerPriority(0)
    /// Runs before listeners with normal priority: 100.
    public static let high = ListenerPriority(100)

    /// Returns whether the left priority is lower, so that its listeners run later.
    public static func < (left: ListenerPriority, right: ListenerPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension ListenerPriority: CustomStringConvertible {
    /// The name of the priority if it has one, otherwise its number.
    public var description: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        default: String(rawValue)
        }
    }
}
