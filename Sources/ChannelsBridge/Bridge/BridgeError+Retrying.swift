extension BridgeError {
    /// Converts an error of a transport.
    static func from(_ error: any Error, subject: String) -> BridgeError {
        switch error {
        case let error as BridgeError where error.subject != nil: error
        case let error as BridgeError:
            BridgeError(error.code, subject: subject, detail: error.detail, underlyingError: error.underlyingError)
        case is CancellationError: BridgeError(.closed, subject: subject)
        default: BridgeError(.transportFailure, subject: subject, underlyingError: error)
        }
    }
}

extension BridgeError {
    /// Whether the broker will not take this message, but may take others: nothing is wrong with the connection.
    package func refuses(_ message: TransportMessage) -> Bool {
        if code.concernsTheMessage { return true }
        // A refusal of the transport's own requests names another subject.
        return [.permissionDenied, .unsupported, .refused].contains(code)
            && subject ?? message.subject == message.subject
    }
}

extension BridgeError.Code {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        [.notConnected, .bufferFull, .notAcknowledged, .timedOut, .transportFailure].contains(self)
    }

    /// Whether the message itself is the reason, so that it would be refused again.
    package var concernsTheMessage: Bool { [.payloadTooLarge, .invalidName, .invalidHeader].contains(self) }
}
