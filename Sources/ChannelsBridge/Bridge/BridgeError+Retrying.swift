internal import Channels

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
    /// Whether other subjects may be published to meanwhile.
    package var concernsItsSubject: Bool { code == .notStored || code == .permissionDenied }

    /// Whether the broker will never take this message. Anything else passes: a stream can be created or emptied, a
    /// permission granted.
    package func refuses(_ message: TransportMessage) -> Bool {
        // A refusal of the transport's own requests names another subject.
        code.concernsTheMessage || code == .refused && (subject ?? message.subject).hasBytes(of: message.subject)
    }
}

extension BridgeError.Code {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        [.notConnected, .bufferFull, .notAcknowledged, .timedOut, .transportFailure, .notStored].contains(self)
    }

    /// Whether waiting does not make a connection possible.
    package var endsConnecting: Bool {
        [.authenticationFailed, .certificateRejected, .alreadyRunning].contains(self)
    }

    /// Whether the message itself is the reason, so that it would be refused again.
    package var concernsTheMessage: Bool { [.payloadTooLarge, .invalidName, .invalidHeader].contains(self) }
}
