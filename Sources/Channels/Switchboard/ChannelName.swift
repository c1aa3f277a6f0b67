/// The name of a channel and the type of its messages.
///
/// ```swift
/// extension ChannelName<Checkout> { static var checkout: Self { "shop.checkout" } }
/// board.post(Checkout(), to: .checkout)
/// ```
///
/// A name is made of tokens between full stops. A token is not empty and has no white space (Unicode's `White_Space`), no control characters
/// and neither `*` nor `>`, which are for patterns. A name has at most 1,024 bytes of UTF-8. Two names are equal if they have the same Unicode
/// scalars: canonical equivalents (`é` in one scalar or two) are different names.
///
/// A literal with interpolation is not a name, because it is not known before run time whether it is valid: `try ChannelName(validating:)`.
public struct ChannelName<Message: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    @usableFromInline let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name that arrives at run time.
    ///
    /// - Throws: ``ChannelError/Code/invalidName`` with what is wrong with it.
    public init(validating text: String) throws {
        key = try NameKey(validating: text)
    }

    /// Creates a name from a literal. Traps where it is not a valid name.
    @inlinable
    public init(stringLiteral text: String) {
        key = NameKey(literal: text)
    }

    /// The text of the name.
    public var description: String { text }
}

/// The name of a request channel and the types of its requests and responses.
///
/// ```swift
/// extension RequestName<Item, Price> { static var price: Self { "shop.price" } }
/// let price = try await board.requests(.price).ask(item)
/// ```
public struct RequestName<Request: Sendable, Response: Sendable>: Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    @usableFromInline let key: NameKey

    /// The text of the name.
    public var text: String { key.text }

    /// Creates a name that arrives at run time. See ``ChannelName/init(validating:)``.
    public init(validating text: String) throws {
        key = try NameKey(validating: text)
    }

    /// Creates a name from a literal. Traps where it is not a valid name.
    @inlinable
    public init(stringLiteral text: String) {
        key = NameKey(literal: text)
    }

    /// The text of the name.
    public var description: String { text }
}

/// A text in quotation marks, with control characters made visible and a long one cut short: names come from outside and end up in logs.
package func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(80) {
        // Control characters, line and paragraph separators would break a line of a log, or worse.
        let isHarmless = scalar.properties.generalCategory.isShownAsItIs
        shown += scalar.escaped(asASCII: !isHarmless)
    }
    return "'\(shown)\(text.unicodeScalars.count > 80 ? "…" : "")'"
}

extension Unicode.GeneralCategory {
    /// Whether characters of this category can be shown in a message as they are.
    fileprivate var isShownAsItIs: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
