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

    /// Whether the error concerns one subject only, so that messages on others can be published meanwhile.
    package var concernsItsSubject: Bool { code == .notStored || code == .permissionDenied }
}
