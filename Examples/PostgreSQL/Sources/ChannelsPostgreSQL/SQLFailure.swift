internal import CPostgreSQL
internal import ChannelsBridge

/// A statement that the server has refused.
struct SQLFailure: Error {
    /// Five characters: https://www.postgresql.org/docs/current/errcodes-appendix.html.
    let state: String
    let message: String

    init(_ result: OpaquePointer) {
        state = PQresultErrorField(result, Int32(UnicodeScalar("C").value)).map { String(cString: $0) } ?? ""
        message = oneLine(String(cString: PQresultErrorMessage(result)))
    }

    /// Whether the server ends the connection, or libpq has lost it.
    var endsConnection: Bool { state.isEmpty || state.hasPrefix("08") || state.hasPrefix("57P") }

    /// Whether the same statement may succeed later: the disk is full, or a lock or a limit of time was in the way.
    var isPassing: Bool {
        state.hasPrefix("53") || state.hasPrefix("58") || ["57014", "55P03", "40001", "40P01"].contains(state)
    }

    fileprivate var code: BridgeError.Code {
        switch state {
        // The server is shut down, is starting, or is a read-only replica.
        case _ where endsConnection: .notConnected
        case "25006", "53300": .notConnected
        case "28000", "28P01", "3D000": .authenticationFailed
        case "42501": .permissionDenied
        // Somebody has removed the tables.
        case "42P01", "42883", "3F000": .notStored
        // The transaction was too slow, and was rolled back.
        case "57014", "55P03", "40001", "40P01": .notAcknowledged
        // A value is not acceptable.
        case _ where state.hasPrefix("22") || state.hasPrefix("23") || state.hasPrefix("54"): .refused
        default: .transportFailure
        }
    }
}

extension BridgeError {
    init(_ failure: SQLFailure, subject: String? = nil) {
        self.init(failure.code, subject: subject, detail: "\(failure.message) (SQLSTATE \(failure.state))")
    }

    /// - Parameter message: The message of libpq, which contains the code of the server's error.
    init(connecting message: String) {
        // Another attempt would fail as well: wrong credentials, no permission to connect, no such database,
        // or a password that is required but missing.
        let isHopeless =
            ["28P01", "28000", "3D000"].contains { message.contains(" \($0): ") } || message.contains("fe_sendauth")
        self.init(isHopeless ? .authenticationFailed : .notConnected, detail: message)
    }

    /// Converts any error that the session has thrown.
    static func from(_ error: any Error, subject: String? = nil) -> BridgeError {
        switch error {
        case let error as SQLFailure: BridgeError(error, subject: subject)
        case let error as ConnectionLost: BridgeError(error.reason.code, subject: subject, detail: error.reason.detail)
        case let error as BridgeError:
            BridgeError(
                error.code,
                subject: error.subject ?? subject,
                detail: error.detail,
                underlyingError: error.underlyingError
            )
        default: BridgeError(.transportFailure, subject: subject, underlyingError: error)
        }
    }
}

/// Returns a text of the server in one line.
func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingPrefix { $0.isWhitespace } }.joined(separator: "; ")
}
