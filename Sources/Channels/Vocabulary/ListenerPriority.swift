/// The rank of a listener: higher ranks run first, equal ones in the order of registration.
public struct ListenerPriority: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    /// The rank: any integer.
    public var rawValue: Int

    /// Creates a priority of any rank.
    public init(_ rawValue: Int) { self.rawValue = rawValue }

    /// Creates a priority from a literal, as in `priority: 7`.
    public init(integerLiteral value: Int) { rawValue = value }

    /// Runs after the normal ones: -100.
    public static let low = ListenerPriority(-100)
    /// The default: 0.
    public static let normal = ListenerPriority(0)
    /// Runs before the normal ones: 100.
    public static let high = ListenerPriority(100)

    /// Returns whether the left priority runs later than the right one.
    public static func < (left: ListenerPriority, right: ListenerPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension ListenerPriority: CustomStringConvertible {
    /// The name of a named priority, else its number.
    public var description: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        default: String(rawValue)
        }
    }
}
