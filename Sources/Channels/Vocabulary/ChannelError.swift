/// An error thrown by a switchboard or a request channel.
public struct ChannelError: Error, Sendable, CustomStringConvertible {
    /// What went wrong. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage { case typeMismatch, invalidName, noResponder, timedOut, recursionLimit }
        private let storage: Storage

        /// A name is in use with another type of message, or for another kind of channel.
        public static let typeMismatch = Code(storage: .typeMismatch)
        /// A text is not a valid name or pattern.
        public static let invalidName = Code(storage: .invalidName)
        /// There is no responder.
        public static let noResponder = Code(storage: .noResponder)
        /// A responder asked, whose responder asked …: too many calls wait for each other.
        public static let recursionLimit = Code(storage: .recursionLimit)
        /// A request was not answered in time.
        public static let timedOut = Code(storage: .timedOut)

        /// The name of the code: `typeMismatch`.
        public var description: String { "\(storage)" }
    }

    /// What went wrong.
    public let code: Code
    /// The name of the channel, if one is involved.
    public let name: String?
    /// One sentence that names every value involved: both types of a mismatch, the text of an invalid name
    /// and what is wrong with it.
    public let description: String

    /// Creates an error, for tests of code that handles it and for stand-ins that throw it.
    public init(code: Code, name: String? = nil, description: String) {
        self.init(code, name: name, description)
    }

    init(_ code: Code, name: String?, _ description: String) {
        self.code = code
        self.name = name
        self.description = description
    }
}
