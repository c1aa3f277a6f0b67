internal import Channels

extension BridgeContext {
    /// Runs a body, and retries with growing delays as long as it fails with a transient error.
    ///
    /// - Parameter abandoned: Ends the retries when it opens.
    func retrying<Result>(_ subject: String, unless abandoned: Latch, _ body: () async throws -> Result) async throws
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
