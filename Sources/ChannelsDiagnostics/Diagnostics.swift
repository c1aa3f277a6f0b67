public import Channels

extension Switchboard {
    /// What a switchboard counts and records in addition to waiting, dropped and missed messages and faults,
    /// which are always counted.
    ///
    /// ```swift
    /// board.diagnostics = .counts
    /// board.diagnostics = .trace(keeping: 32, redacting: [Sale.self])
    /// board.diagnostics = .off
    /// ```
    ///
    /// Counts begin at zero each time they are switched on.
    public struct Diagnostics: Equatable, Sendable {
        /// Whether anything is counted.
        let isOn: Bool
        /// Whether posts and deliveries are traced.
        let isTracing: Bool
        /// How many messages of each channel are kept.
        let kept: Int
        /// The types whose values are hidden in those messages.
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

        /// Counts only what is always counted: waiting, dropped and missed messages, and faults. Costs
        /// nothing.
        public static let off = Diagnostics(isOn: false)
        /// Counts posts, posts without a receiver, calls of listeners without a mailbox, calls that threw, the
        /// longest queues, and deallocated owners.
        public static let counts = Diagnostics(isOn: true)
        /// Counts everything in `counts`, calls instruments, and records who posts, how long messages wait and how long
        /// calls take.
        public static let trace = trace(keeping: 0)

        /// Traces like `trace`, and keeps the last messages of each channel as text.
        ///
        /// `String(describing:)` creates the text on the poster's thread before delivery. It has at most
        /// 1,024 characters.
        ///
        /// - Parameters:
        ///   - messages: How many messages to keep per channel, at most 4,096.
        ///   - types: Types whose values are replaced by the name of the type, even inside a message.
        public static func trace(keeping messages: Int, redacting types: [any Any.Type] = []) -> Diagnostics {
            require(
                messages >= 0,
                "Diagnostics.trace(keeping: \(messages)): the number must not be negative; write 0 or more"
            )
            let redacted = types.map { ObjectIdentifier($0) }
            return Diagnostics(isOn: true, isTracing: true, keeping: min(messages, 4_096), redacting: redacted)
        }
    }
}

extension Switchboard.Diagnostics {
    /// Combines two settings: keeps as many messages as the larger one, and hides the types that either one
    /// hides.
    func combined(with other: Switchboard.Diagnostics) -> Switchboard.Diagnostics {
        Switchboard.Diagnostics(
            isOn: isOn || other.isOn,
            isTracing: isTracing || other.isTracing,
            keeping: max(kept, other.kept),
            redacting: redacted + other.redacted.filter { !redacted.contains($0) }
        )
    }
}
