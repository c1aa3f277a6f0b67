/// The name of a channel and the type of its messages.
///
/// ```swift
/// extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
/// board[.checkout].post(Checkout())
/// ```
///
/// A name consists of tokens separated by full stops. A token is not empty and has no white space (Unicode's
/// `White_Space`), no control characters and neither `*` nor `>`, which are for patterns. A name has at most
/// 1,024 bytes of UTF-8. Two names are equal if they have the same Unicode scalars: canonical equivalents
/// (`é` in one scalar or two) are different names.
///
/// A literal with interpolation is not a name, because it is not known before run time whether it is valid:
/// `try ChannelName(validating:)`.
@frozen
public struct ChannelName<Message: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    @usableFromInline let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name from a text at run time.
    ///
    /// - Throws: ``ChannelError/Code/invalidName`` with what is wrong with it.
    public init(validating text: String) throws { key = try NameKey(validating: text) }

    /// Creates a name from a literal. Traps if it is not a valid name.
    @inlinable
    public init(stringLiteral text: String) { key = NameKey(literal: text) }

    /// The text of the name.
    public var description: String { text }
}
