// What must not compile for macOS 15: where it does, `Scripts/verify apple` has checked nothing. The comment of a line is part of the error
// that it must have; the lines without one must have none.

import Dispatch
import Foundation
import Observation

#if !canImport(Darwin) || !canImport(Combine) || !os(macOS) || canImport(Glibc)
#error("these are not the branches of macOS")
#endif

// Newer than macOS 15.
func useWhatIsNewer() {
    Task.immediate {}  // 'immediate(name:priority:executorPreference:operation:)' is only available in macOS 26
    _ = "text".utf8Span  // 'utf8Span' is only available in macOS 26
    _ = Observations { 1 }  // 'Observations' is only available in macOS 26
    if #available(macOS 26, *) { Task.immediate {} }
}

typealias Token = NotificationCenter.ObservationToken  // 'ObservationToken' is only available in macOS 26

// Isolation, and what is not Sendable.
final class Counter: Sendable {
    var count = 0  // stored property 'count' of 'Sendable'-conforming class 'Counter' is mutable
}

@MainActor func show() {}
func showFromAnywhere() {
    show()  // call to main actor-isolated global function 'show()' in a synchronous nonisolated context
}

func waitInATask(_ semaphore: DispatchSemaphore) async {
    semaphore.wait()  // instance method 'wait' is unavailable from asynchronous contexts
}
