internal import Channels

extension BridgeContext {
    /// Does something with the transport, again and again while it fails in a way that may pass.
    ///
    /// - Parameter abandoned: When it opens, nothing is tried again.
    func trying<Result>(_ subject: String, unless abandoned: Latch, _ body: () async throws -> Result) async throws
        -> Result
    {
        var attempt = 1
        while true {
            do {
                return try await body()
            } catch {
                let error = BridgeError.from(error, subject: subject)
                guard error.code.mayPass, attempt < configuration.publishAttempts, !abandoned.isOpen else {
                    throw error
                }
                await abandoned.wait(atMost: configuration.backoff.delay(before: attempt), clock: configuration.clock)
                attempt += 1
            }
        }
    }
}

extension BridgeError {
    /// An error of a transport as one of the bridge.
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

extension BridgeError.Code {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        switch self {
        case .notConnected, .bufferFull, .notAcknowledged, .timedOut, .transportFailure: true
        default: false
        }
    }
}
