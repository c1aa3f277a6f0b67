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

/// Whether something failed without anybody waiting for it.
let failures = Failures()

final class Failures: Sendable {
    private let count = Atomic(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    func add() {
        count.add(1, ordering: .releasing)
    }
}

/// Runs a command; an error is printed as one line, with exit status 1.
func reportingFailures(_ body: () async throws -> Void) async {
    do {
        try await body()
    } catch {
        StandardStreams.report("\(error)")
        Foundation.exit(1)
    }
    // The server refused something after accepting a message, which has been reported.
    if !failures.isEmpty { Foundation.exit(1) }
}
#endif
