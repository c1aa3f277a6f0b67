internal import Channels

/// An error of a bridge or of its transport.
public struct BridgeError: Error, Sendable, CustomStringConvertible {
    /// What went wrong. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage: String {
            case notConnected, closed, alreadyRunning, authenticationFailed, certificateRejected, permissionDenied
            case bufferFull, payloadTooLarge, notAcknowledged, duplicateIdentifier, refused
            case lastValuesLost, messagesLost, timedOut, noResponder, remoteFailure
            case invalidName, invalidHeader, invalidEnvelope, unencodable, undecodable, unknownType
            case tooManyFailures, unsupported, notStored, closingTimedOut, transportFailure, settingsDiffer
        }
        private let storage: Storage

        /// There is no connection to the broker. Try again once it is back; a bridge keeps durable messages
        /// and sends them then.
        public static let notConnected = Code(storage: .notConnected)
        /// The bridge or transport was closed. Run the bridge, or connect the transport, again.
        public static let closed = Code(storage: .closed)
        /// The bridge is already running, or the transport is already connected. End that first, or create
        /// another one.
        public static let alreadyRunning = Code(storage: .alreadyRunning)
        /// The broker rejected the credentials. Correct them, and run the bridge again.
        public static let authenticationFailed = Code(storage: .authenticationFailed)
        /// The broker's certificate is not trusted, or the broker does not trust the client's. Fix the TLS
        /// settings, and run the bridge again.
        public static let certificateRejected = Code(storage: .certificateRejected)
        /// The broker does not permit this subject. Grant the permission on the broker.
        public static let permissionDenied = Code(storage: .permissionDenied)
        /// A buffer is full; the message was not accepted. Post more slowly, or raise the limit that
        /// ``BridgeError/detail`` names.
        public static let bufferFull = Code(storage: .bufferFull)
        /// The message is larger than the broker allows. Send less, or raise the limit, if the broker has one that can
        /// be changed.
        public static let payloadTooLarge = Code(storage: .payloadTooLarge)
        /// The broker did not acknowledge a durable message in time. It may or may not have stored it.
        /// A bridge repeats it; on a transport, publish it again with its identifier.
        public static let notAcknowledged = Code(storage: .notAcknowledged)
        /// The broker already has another message with the identifier of a new durable message, and did not
        /// store the new one. Publish it with another identifier.
        public static let duplicateIdentifier = Code(storage: .duplicateIdentifier)
        /// The broker refused a message, and would refuse it again. Do not repeat it: correct it, as
        /// ``BridgeError/detail`` says.
        public static let refused = Code(storage: .refused)
        /// The broker has lost its stored states. The bridge stores its own again: compare them with their
        /// source.
        public static let lastValuesLost = Code(storage: .lastValuesLost)
        /// The broker has lost durable messages that were not settled. Send them again from their source.
        public static let messagesLost = Code(storage: .messagesLost)
        /// No reply arrived in time. `RequestChannel.ask` throws a `ChannelError` instead. Only retry
        /// requests that are safe to repeat.
        public static let timedOut = Code(storage: .timedOut)
        /// No responder answers the request. Start a process that answers, or try again later.
        public static let noResponder = Code(storage: .noResponder)
        /// The responder in the other process threw; ``BridgeError/detail`` describes its error. Correct it
        /// there.
        public static let remoteFailure = Code(storage: .remoteFailure)
        /// A text is not a valid subject or pattern. Correct it: ``BridgeError/detail`` or
        /// ``BridgeError/underlyingError`` says what is wrong.
        public static let invalidName = Code(storage: .invalidName)
        /// A header is not valid. Remove control characters, spaces at the ends, and non-ASCII characters in
        /// its name.
        public static let invalidHeader = Code(storage: .invalidHeader)
        /// A message is declared as a CloudEvent, but is not a valid event of CloudEvents 1.0. Correct its
        /// sender.
        public static let invalidEnvelope = Code(storage: .invalidEnvelope)
        /// A message could not be encoded. Correct its type, or give the route another codec.
        public static let unencodable = Code(storage: .unencodable)
        /// A message could not be decoded as the type of its channel. Deploy the reader's new version first,
        /// and put the dead letter back.
        public static let undecodable = Code(storage: .undecodable)
        /// A message declares a type different from its channel's. Give both sides the same `type:`.
        public static let unknownType = Code(storage: .unknownType)
        /// The listeners of a durable message failed as often as the configuration allows, or the broker
        /// delivered it more often than ``BridgeConfiguration/deliveryLimit``.
        ///
        /// Correct the listener, and put the dead letter back.
        public static let tooManyFailures = Code(storage: .tooManyFailures)
        /// The transport does not support this. Use another transport, or other routes;
        /// ``BridgeError/detail`` says what is missing.
        public static let unsupported = Code(storage: .unsupported)
        /// The broker does not store durable messages on this subject at present. A bridge waits until it
        /// does: have a stream created, or declare one.
        public static let notStored = Code(storage: .notStored)
        /// Closing took longer than its timeout. Queued messages may be lost. Raise the timeout.
        public static let closingTimedOut = Code(storage: .closingTimedOut)
        /// What the broker has, such as its settings or the version of a file, differs from what the code declares or
        /// knows, and the broker keeps its own. Change one of them, or use a newer version of the program:
        /// ``BridgeError/detail`` names both.
        public static let settingsDiffer = Code(storage: .settingsDiffer)
        /// The broker or its client library failed in another way. Correct what
        /// ``BridgeError/underlyingError`` and ``BridgeError/detail`` name.
        public static let transportFailure = Code(storage: .transportFailure)

        /// The name of the code: `notConnected`.
        public var description: String { storage.rawValue }

        /// What the caller can do about the error: wait, have a configuration changed, leave the message out,
        /// or end.
        ///
        /// Bridges, relays and transports use it to decide whether to repeat a call.
        public var disposition: Disposition {
            switch storage {
            case .notConnected, .bufferFull, .notAcknowledged, .timedOut, .noResponder, .notStored, .transportFailure:
                .wait
            case .permissionDenied, .unsupported: .reconfigure
            case .payloadTooLarge, .duplicateIdentifier, .refused, .invalidName, .invalidHeader, .invalidEnvelope,
                .unencodable, .undecodable, .unknownType, .tooManyFailures, .remoteFailure:
                .leaveOut
            case .closed, .alreadyRunning, .authenticationFailed, .certificateRejected, .closingTimedOut,
                .lastValuesLost, .messagesLost, .settingsDiffer:
                .end
            }
        }

        /// What the caller can do about a call that failed.
        public enum Disposition: Hashable, Sendable {
            /// The same call may succeed later: repeat it after a pause.
            case wait
            /// The broker refuses this, perhaps only to this client, until somebody changes its configuration,
            /// which can happen while the connection lasts. Relays and states try again at long intervals; a
            /// bridge does not keep a posted message until then.
            case reconfigure
            /// The message or request itself is at fault, and would fail again. Leave it out; others can
            /// succeed.
            case leaveOut
            /// Repeating the call is useless, whatever the message: end, and report the error.
            case end
        }

        /// The advice in the description of an error that has no details.
        fileprivate var advice: String? {
            switch storage {
            case .notConnected: "there is no connection: try again later"
            case .closed: "the bridge or transport was closed: run or connect it again"
            case .noResponder: "no process answers: start one"
            default: nil
            }
        }
    }

    /// What went wrong.
    public let code: Code
    /// The subject, pattern or channel name involved, if one is.
    public let subject: String?
    /// Further information: the limit that was reached, both types of a mismatch.
    public let detail: String?
    /// The error that caused this one.
    public let underlyingError: (any Error)?

    /// Creates an error, for the author of a transport.
    public init(_ code: Code, subject: String? = nil, detail: String? = nil, underlyingError: (any Error)? = nil) {
        self.code = code
        self.subject = subject
        self.detail = detail
        self.underlyingError = underlyingError
    }

    /// One line that names everything involved.
    public var description: String {
        var line = "\(code)"
        if let subject { line += " on \(quoted(subject))" }
        // On one line, because both can contain text from other processes, such as keys of their JSON.
        if let detail { line += ", \(onOneLine(detail))" }
        if let advice = code.advice, detail == nil, underlyingError == nil { line += ", \(advice)" }
        if let underlyingError { line += ": \(onOneLine("\(underlyingError)"))" }
        return line
    }
}
