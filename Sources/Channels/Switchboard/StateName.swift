/// The name of a state channel and the type of its state. ``ChannelName`` says which names are valid.
///
/// ```swift
/// extension StateName<Sales> { static var sales: Self { "shop.sales" } }
/// board.state(.sales, initial: Sales()).update { $0.total += 12 }
/// ```
public struct StateName<State: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name from a string at run time.
    /// - Throws: ``ChannelError/Code/invalidName``.
    public init(validating text: String) throws { key = try NameKey(validating: text) }

    /// Creates a name from a literal. Traps if it is invalid.
    public init(stringLiteral text: String) { key = NameKey(literal: text) }

    /// The text of the name.
    public var description: String { text }
}
