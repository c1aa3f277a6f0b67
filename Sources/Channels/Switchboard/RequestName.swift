/// The name of a request channel and the types of its requests and responses.
///
/// ```swift
/// extension RequestName<String, Int> { static var price: Self { "shop.price" } }
/// let price = try await board.requests(.price).ask("tea")
/// ```
@frozen
public struct RequestName<Request: Sendable, Response: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    @usableFromInline let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name from a string at run time.
    /// - Throws: ``ChannelError/Code/invalidName``.
    public init(validating text: String) throws { key = try NameKey(validating: text) }

    /// Creates a name from a literal. Traps if it is invalid.
    @inlinable
    public init(stringLiteral text: String) { key = NameKey(literal: text) }

    /// The text of the name.
    public var description: String { text }
}
