#if Tool
import Foundation
import Synchronization

/// What went wrong, in one line.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }
}

/// Whether something has failed for which nobody was waiting.
let hasFailed = Atomic(false)

/// Runs a command. An error is printed as one line, and the exit status is then 1.
func reportingFailures(_ body: () async throws -> Void) async {
    do {
        try await body()
    } catch {
        StandardStreams.report("\(error)")
        Foundation.exit(1)
    }
    // The server has refused something after accepting a message. That has been reported.
    if hasFailed.load(ordering: .acquiring) { Foundation.exit(1) }
}
#endif
