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

/// Counts failures for which nobody was waiting.
let failures = Failures()

final class Failures: Sendable {
    private let count = Atomic(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func add() {
        count.add(1, ordering: .releasing)
    }
}

/// Runs a command. An error is printed as one line, and the exit status is then 1.
func reportingFailures(_ body: () async throws -> Void) async {
    do {
        try await body()
    } catch {
        StandardStreams.report("\(error)")
        Foundation.exit(1)
    }
    // The server has refused something after accepting a message. That has been reported.
    if !failures.isEmpty { Foundation.exit(1) }
}
#endif
