/// What is counted and recorded of a switchboard, besides mailboxes, drops and faults, which always are.
///
/// ```swift
/// board.diagnostics = .counts
/// board.diagnostics = .trace(keeping: 32, redacting: [Sale.self])
/// board.diagnostics = .off
/// ```
///
/// What was posted before is not in the counts: each switching on begins at zero.
public struct Diagnostics: Hashable, Sendable {
    enum Level: Int, Comparable, Sendable {
        case off, counts, trace

        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    let level: Level
    /// How many messages of each channel are kept.
    let kept: Int
    /// The types whose values are not shown in them.
    let redacted: [ObjectIdentifier]
    /// What it may cost, for a tool; nil where that is not limited.
    private(set) var allowance: MeteringAllowance?
    /// What the program asked for itself, which is recorded whatever it costs.
    private var exact = Level.off

    private init(_ level: Level, keeping kept: Int = 0, redacting redacted: [ObjectIdentifier] = []) {
        self.level = level
        self.kept = kept
        self.redacted = redacted
    }

    /// Nothing is counted. Costs nothing.
    public static let off = Diagnostics(.off)
    /// How many posts there are, and how many that nobody heard; the calls of listeners that have no mailbox, and
    /// those that threw; the most messages that have waited; and owners that were deallocated.
    public static let counts = Diagnostics(.counts)
    /// The same, and how long messages are on their way and listeners take, who posts, and the calls of each
    /// ``ChannelInstrument``.
    public static let trace = Diagnostics(.trace)

    /// The same as `trace`, and the last messages of each channel as text.
    ///
    /// The text is made on the poster's thread, by `String(describing:)`, before the message is delivered,
    /// and is cut after 1,024 characters.
    ///
    /// - Parameters:
    ///   - messages: How many of each channel, 4,096 at most.
    ///   - types: Types whose values are shown as their type only, also where they are part of a message.
    public static func trace(keeping messages: Int, redacting types: [any Any.Type] = []) -> Diagnostics {
        require(messages >= 0, "Diagnostics.trace(keeping: \(messages)): the number must not be negative")
        return Diagnostics(.trace, keeping: min(messages, 4_096), redacting: types.map { ObjectIdentifier($0) })
    }

    /// Whether anything is counted.
    public var isOn: Bool { level > .off }

    /// Whether posts and deliveries are traced.
    public var isTracing: Bool { level == .trace }
}

// MARK: - For tools

extension Diagnostics {
    /// The same within an allowance: of what is busy, a share is counted and traced, and the rest extrapolated.
    ///
    /// - Parameter asked: What the program asked for itself: that much is recorded of every post.
    package func limited(by allowance: MeteringAllowance, beyond asked: Diagnostics) -> Diagnostics {
        var limited = self
        limited.allowance = allowance
        limited.exact = asked.level
        return limited
    }

    /// Whether this is within an allowance.
    package var isLimited: Bool { allowance != nil }

    /// The same for a channel that was created with diagnostics of its own: nobody switches off what it asked for.
    func beyond(_ own: Diagnostics) -> Diagnostics {
        guard own.level <= level else { return own }
        var both = self
        both.exact = max(exact, own.level)
        return both
    }

    /// Whether of some posts only the number is told, and that by extrapolation.
    var limitsCounts: Bool { allowance != nil && exact < .counts }

    /// Whether only some posts are traced.
    var limitsTraces: Bool { allowance != nil && exact < .trace }
}
