/// Something that went wrong and was survived.
public struct Fault: Sendable, CustomStringConvertible {
    /// What went wrong. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage {
            case recursionLimit, stateBacklog, laneBacklog, bufferOverflow, listenerThrew, reentrancyMismatch,
                bridgeFailed
        }
        private let storage: Storage

        /// A post was not delivered because too many were under way on its thread, too many had followed from one
        /// post, or too little of its stack was left.
        public static let recursionLimit = Code(storage: .recursionLimit)
        /// A thread that set a state waited as long as it may, and too many values still wait to be delivered:
        /// listeners are slower than those who set it.
        public static let stateBacklog = Code(storage: .stateBacklog)
        /// More than 1,048,576 messages wait in the lane of an actor or a queue: its listeners are slower than
        /// those who post, or a loop of posts leads through it. Raised again each time that number has doubled.
        public static let laneBacklog = Code(storage: .laneBacklog)
        /// A message was dropped because a buffer with ``BufferingPolicy/oldest(_:)`` was full.
        public static let bufferOverflow = Code(storage: .bufferOverflow)
        /// A listener, interceptor or async listener threw.
        public static let listenerThrew = Code(storage: .listenerThrew)
        /// A channel was requested with a ``Reentrancy`` other than it was created with; it keeps the first.
        public static let reentrancyMismatch = Code(storage: .reentrancyMismatch)
        /// A bridge could not carry a message, or something is wrong with its broker; the underlying error says what.
        public static let bridgeFailed = Code(storage: .bridgeFailed)

        /// The name of the code: `recursionLimit`.
        public var description: String { "\(storage)" }
    }

    /// What went wrong.
    public let code: Code
    /// The kind of channel on which it went wrong.
    public let channelKind: ChannelKind
    /// The name of the channel, or its type if it has none; ``Posted/channelName`` is nil then.
    public let channelName: String
    /// Where the listener involved was registered, if one was.
    public let registrationSite: RegistrationSite?
    /// How often this has happened at this place, including this time.
    public let count: Int
    /// The error, for ``Code/listenerThrew`` and ``Code/bridgeFailed``.
    public let underlyingError: (any Error)?
    /// The limit or other value that was hit.
    public var detail: String? {
        switch wording {
        case .text(let text): text
        case .buffering(let policy): "buffering \(policy)"
        }
    }
    private let wording: Wording

    /// What ``detail`` says. It is worded when somebody asks: a handler may be told of millions of drops.
    enum Wording: Sendable {
        case text(String?)
        case buffering(BufferingPolicy)
    }

    /// Creates a fault, for tests of fault handlers.
    public init(
        code: Code,
        channelKind: ChannelKind = .messages,
        channelName: String,
        registrationSite: RegistrationSite? = nil,
        count: Int = 1,
        underlyingError: (any Error)? = nil,
        detail: String? = nil
    ) {
        self.init(code, channelKind, channelName, registrationSite, count, underlyingError, .text(detail))
    }

    init(
        _ code: Code,
        _ channelKind: ChannelKind,
        _ channelName: String,
        _ registrationSite: RegistrationSite?,
        _ count: Int,
        _ underlyingError: (any Error)?,
        _ wording: Wording
    ) {
        self.code = code
        self.channelKind = channelKind
        self.channelName = channelName
        self.registrationSite = registrationSite
        self.count = count
        self.underlyingError = underlyingError
        self.wording = wording
    }

    /// One line that names everything involved.
    public var description: String {
        var line = "\(code) on \(channelKind.noun) \(channelName)"
        if let detail { line += ", \(onOneLine(detail))" }
        if let registrationSite { line += ", listener registered at \(registrationSite)" }
        if let underlyingError { line += ": \(onOneLine("\(underlyingError)"))" }
        if count > 1 { line += " (\(count) times so far)" }
        return line
    }
}

/// Called for every fault, on the thread that found it. No lock is held.
public typealias FaultHandler = @Sendable (Fault) -> Void
