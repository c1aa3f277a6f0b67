/// An error thrown by a switchboard, a request channel, or a wait whose time is up.
public struct ChannelError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage { case typeMismatch, invalidName, noResponder, timedOut, recursionLimit }
        private let storage: Storage

        /// The name is in use for another type of message, or for another kind of channel. Use the name with that type
        /// and kind, or use another name.
        public static let typeMismatch = Code(storage: .typeMismatch)
        /// The text is not a valid name or pattern. Reject it: the description says what is wrong with it.
        public static let invalidName = Code(storage: .invalidName)
        /// No responder is registered, or all of them are paused. Register one, resume one, or try again
        /// later.
        public static let noResponder = Code(storage: .noResponder)
        /// Too many requests are nested: a responder asked another, which asked another, and so on. End the
        /// cycle of responders.
        public static let recursionLimit = Code(storage: .recursionLimit)
        /// A request, or a wait for a message, has run out of time. A responder may still be working, so only retry
        /// requests that are safe to repeat, or raise the timeout.
        public static let timedOut = Code(storage: .timedOut)

        /// The name of the code: `typeMismatch`.
        public var description: String { "\(storage)" }
    }

    /// The kind of the error.
    public let code: Code
    /// The name of the channel involved, if any.
    public let name: String?
    /// One sentence that names every value involved, such as both types of a mismatch.
    public let description: String

    /// Creates an error, for test doubles and for tests of error handling.
    public init(_ code: Code, name: String? = nil, description: String) {
        self.init(code, name: name, description)
    }

    init(_ code: Code, name: String?, _ description: String) {
        self.code = code
        self.name = name
        self.description = description
    }
}
