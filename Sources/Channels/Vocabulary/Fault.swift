/// Describes a problem that does not stop the channel.
public struct Fault: Sendable, CustomStringConvertible {
    /// The kind of a fault. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage {
            case recursionLimit, stateBacklog, laneBacklog, bufferOverflow, listenerThrew, reentrancyMismatch,
                bridgeFailed
        }
        private let storage: Storage

        /// A post or a change of a state was refused: posts of the channel were nested too deeply on the thread, too
        /// many changes had led to it, about 8,000 posts of any channels were nested on the thread, or too little of
        /// its stack was left. End the loop of posts or changes, or make them from a task.
        public static let recursionLimit = Code(storage: .recursionLimit)
        /// Too many values of a state are pending: its listeners are slower than its setters. Set values less often, or
        /// let listeners take only the newest one.
        public static let stateBacklog = Code(storage: .stateBacklog)
        /// More than 1,048,576 messages are queued in one lane, or for one async listener or sequence: its listeners or
        /// readers are slower than the posters, or posts form a loop. Raised again at each doubling. Give the listeners
        /// a ``BufferingPolicy``, or end the loop.
        public static let laneBacklog = Code(storage: .laneBacklog)
        /// A message was dropped because a buffer with ``BufferingPolicy/oldest(_:)`` was full. Raise the
        /// limit, or drop older messages with ``BufferingPolicy/newest(_:)``.
        public static let bufferOverflow = Code(storage: .bufferOverflow)
        /// A listener or interceptor threw. Handle the error inside the listener: the message is not
        /// delivered to it again.
        public static let listenerThrew = Code(storage: .listenerThrew)
        /// A channel was requested with a ``Reentrancy`` other than its own, which it keeps. Use the same one
        /// everywhere.
        public static let reentrancyMismatch = Code(storage: .reentrancyMismatch)
        /// A bridge could not carry a message, or its broker failed; ``Fault/underlyingError`` says why. See
        /// that error's code for the remedy.
        public static let bridgeFailed = Code(storage: .bridgeFailed)

        /// The name of the code: `recursionLimit`.
        public var description: String { "\(storage)" }
    }

    /// The kind of the fault.
    public let code: Code
    /// The kind of the channel involved.
    public let channelKind: ChannelKind
    /// The name of the channel, or its type if it has no name.
    public let channelName: String
    /// Where the listener involved was registered; nil if no listener is involved.
    public let registrationSite: CallSite?
    /// The type of the owner of the listener involved; nil if there is no owner.
    public var ownerType: String? { ownerName ?? owner.map { "\($0)" } }
    // The text is made only when it is read, like that of `wording`.
    private let owner: (any Any.Type)?
    private var ownerName: String?
    /// How many times this has happened here, including this time.
    public let count: Int
    /// The error, for ``Code/listenerThrew`` and ``Code/bridgeFailed``.
    public let underlyingError: (any Error)?
    /// The limit or other value involved.
    public var detail: String? {
        switch wording {
        case .text(let text): text
        case .buffering(let policy): "buffering \(policy.text)"
        }
    }
    private let wording: Wording

    /// The text of ``detail``, made only when it is read: a handler may be called for millions of drops.
    enum Wording: Sendable {
        case text(String?)
        case buffering(BufferingPolicy)
    }

    /// Creates a fault, for tests of fault handlers.
    public init(
        code: Code,
        channelKind: ChannelKind = .messages,
        channelName: String,
        registrationSite: CallSite? = nil,
        ownerType: String? = nil,
        count: Int = 1,
        underlyingError: (any Error)? = nil,
        detail: String? = nil
    ) {
        self.init(code, channelKind, channelName, registrationSite, nil, count, underlyingError, .text(detail))
        ownerName = ownerType
    }

    init(
        _ code: Code,
        _ channelKind: ChannelKind,
        _ channelName: String,
        _ registrationSite: CallSite?,
        _ owner: (any Any.Type)?,
        _ count: Int,
        _ underlyingError: (any Error)?,
        _ wording: Wording
    ) {
        self.code = code
        self.channelKind = channelKind
        self.channelName = channelName
        self.registrationSite = registrationSite
        self.owner = owner
        self.count = count
        self.underlyingError = underlyingError
        self.wording = wording
    }

    /// One line that says what happened, where, and how often.
    public var description: String {
        var line = "\(code) on \(channelKind.noun) \(channelName)"
        if let detail { line += ", \(onOneLine(detail))" }
        if let registrationSite {
            line += ", listener \(ownerType.map { "of \($0) " } ?? "")registered at \(registrationSite)"
        }
        if let underlyingError { line += ": \(onOneLine("\(underlyingError)"))" }
        if count > 1 { line += " (\(count) times so far)" }
        return line
    }
}

/// Handles a fault, on the thread that found it, with no lock held.
///
/// Without a handler, the 1st, 2nd, 4th, 8th … fault of each kind and place is written to standard error.
public typealias FaultHandler = @Sendable (Fault) -> Void
