/// What is counted and recorded of a switchboard, besides mailboxes, drops and faults, which always are.
///
/// ```swift
/// board.diagnostics = .counts
/// board.diagnostics = .trace(keeping: 32, redacting: [Sale.self])
/// board.diagnostics = .off
/// ```
///
/// What was posted before is not in the counts: each switching on begins at zero.
public struct Diagnostics: Equatable, Sendable {
    /// Whether anything is counted.
    public let isOn: Bool
    /// Whether posts and deliveries are traced.
    public let isTracing: Bool
    /// How many messages of each channel are kept.
    let kept: Int
    /// The types whose values are not shown in them.
    let redacted: [ObjectIdentifier]

    private init(
        isOn: Bool,
        isTracing: Bool = false,
        keeping kept: Int = 0,
        redacting redacted: [ObjectIdentifier] = []
    ) {
        self.isOn = isOn
        self.isTracing = isTracing
        self.kept = kept
        self.redacted = redacted
    }

    /// Nothing is counted. Costs nothing.
    public static let off = Diagnostics(isOn: false)
    /// How many posts there are, and how many that nobody heard; the calls of listeners that have no mailbox, and
    /// those that threw; the most messages that have waited; and owners that were deallocated.
    public static let counts = Diagnostics(isOn: true)
    /// What `counts` has, and how long messages are on their way and listeners take, who posts, and the calls of
    /// each ``ChannelInstrument``.
    public static let trace = trace(keeping: 0)

    /// What `trace` has, and the last messages of each channel as text.
    ///
    /// The text is made on the poster's thread, by `String(describing:)`, before the message is delivered,
    /// and is cut after 1,024 characters.
    ///
    /// - Parameters:
    ///   - messages: How many of each channel, 4,096 at most.
    ///   - types: Types whose values are shown as their type only, also where they are part of a message.
    public static func trace(keeping messages: Int, redacting types: [any Any.Type] = []) -> Diagnostics {
        require(messages >= 0, "Diagnostics.trace(keeping: \(messages)): the number must not be negative")
        let redacted = types.map { ObjectIdentifier($0) }
        return Diagnostics(isOn: true, isTracing: true, keeping: min(messages, 4_096), redacting: redacted)
    }
}

extension Diagnostics {
    /// Whatever either of two asks for: as many messages as the one that keeps more, without the types that either
    /// hides.
    @inline(never)
    func combined(with other: Diagnostics) -> Diagnostics {
        Diagnostics(
            isOn: isOn || other.isOn,
            isTracing: isTracing || other.isTracing,
            keeping: max(kept, other.kept),
            redacting: redacted + other.redacted.filter { !redacted.contains($0) }
        )
    }
}
