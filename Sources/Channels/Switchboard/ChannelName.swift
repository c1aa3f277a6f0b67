/// The name of a channel and the type of its messages.
///
/// ```swift
/// extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
/// board[.checkout].post(Checkout())
/// ```
///
/// A name consists of segments separated by periods, and has at most 1,024 bytes of UTF-8. A segment is not
/// empty and contains no white space (Unicode's `White_Space`), control characters, `*` or `>`. Names are
/// equal if they have the same Unicode scalars; canonical equivalents (`é` in one scalar or two) differ.
///
/// A name with interpolated values is not a literal: use `try ChannelName(validating:)`.
@frozen
public struct ChannelName<Message: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
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
