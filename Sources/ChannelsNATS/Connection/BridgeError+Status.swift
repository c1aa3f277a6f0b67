#if NATS
import Channels
import ChannelsBridge
import CNATS

extension BridgeError {
    init(_ code: Code, subject: String? = nil, _ detail: String) {
        self.init(code, subject: subject, detail: detail)
    }

    /// Creates the error for a status that a call of the C client returned.
    init(_ status: natsStatus, doing action: String, subject: String? = nil) {
        self.init(
            Code(status),
            subject: subject,
            "\(action): \(String(cString: natsStatus_GetText(status)))\(Self.lastDetail(of: status))"
        )
    }

    /// Creates the error for a status that the C client reported by a callback, with the text of the server.
    init(_ status: natsStatus, saying text: UnsafePointer<CChar>?) {
        let said = text.map { String(cString: $0).singleLine } ?? ""
        guard !said.isEmpty else {
            self.init(status, doing: "the connection")
            return
        }
        self.init(Code(status), subject: Self.quotedSubject(in: said), "the server or client says: \(said)")
    }

    /// The error for messages that were accepted and never sent.
    static func unsentAtClose(_ count: Int) -> BridgeError {
        BridgeError(.closed, "\(count) messages were still waiting to be sent when the connection closed")
    }

    /// The error for an answer that cannot be read.
    static func unreadable(_ what: String, on subject: String, _ error: (any Error)? = nil) -> BridgeError {
        BridgeError(.transportFailure, subject: subject, detail: "\(what) cannot be read", underlyingError: error)
    }

    /// Whether the server has refused or ended a subscription:
    /// `Permissions Violation for Subscription to "orders.>" using queue "kitchen"`. A server that has
    /// reloaded its configuration does not name the queue.
    func refuses(_ pattern: String, group: String?) -> Bool {
        guard code == .permissionDenied, subject.map({ ExactText($0) }) == ExactText(pattern), let detail,
            detail.contains(" for Subscription to ")
        else { return false }
        // In bytes, because a quotation mark and a combining mark after it are one character.
        guard let found = detail.utf8.firstRange(of: " using queue \"".utf8) else { return true }
        return group.map { detail.utf8[found.upperBound...].starts(with: ($0 + "\"").utf8) } ?? false
    }

    /// Whether the server has refused a message: `Permissions Violation for Publish to "orders.new"`.
    var refusesMessage: Bool { code == .permissionDenied && detail?.contains(" for Publish to ") == true }

    /// The C client's details about the last error of this thread.
    private static func lastDetail(of status: natsStatus) -> String {
        var last = NATS_OK
        guard let text = nats_GetLastError(&last), last == status else { return "" }
        let detail = String(cString: text).singleLine
        return detail.isEmpty ? "" : " (\(detail))"
    }

    /// The subject, which the server names in quotation marks:
    /// `Permissions Violation for Publish to "orders.new"`.
    private static func quotedSubject(in text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        return parts.count >= 3 ? String(Substring(parts[1])) : nil
    }
}

extension BridgeError.Code {
    fileprivate init(_ status: natsStatus) {
        self =
            switch status {
            case NATS_NO_SERVER, NATS_IO_ERROR, NATS_ADDRESS_MISSING, NATS_SECURE_CONNECTION_REQUIRED,
                NATS_SECURE_CONNECTION_WANTED,
                NATS_CONNECTION_DISCONNECTED, NATS_STALE_CONNECTION, NATS_NOT_YET_CONNECTED:
                .notConnected
            case NATS_CONNECTION_AUTH_FAILED: .authenticationFailed
            case NATS_SSL_ERROR: .certificateRejected
            case NATS_NOT_PERMITTED: .permissionDenied
            case NATS_CONNECTION_CLOSED, NATS_DRAINING, NATS_INVALID_SUBSCRIPTION: .closed
            case NATS_INSUFFICIENT_BUFFER: .bufferFull
            case NATS_MAX_PAYLOAD: .payloadTooLarge
            case NATS_INVALID_SUBJECT: .invalidName
            case NATS_NO_RESPONDERS: .noResponder
            case NATS_TIMEOUT: .timedOut
            default: .transportFailure
            }
    }
}

extension String {
    /// The text in a single line, truncated because servers supply part of it.
    var singleLine: String { onOneLine(String(unicodeScalars.prefix(400))) }
}
#endif
