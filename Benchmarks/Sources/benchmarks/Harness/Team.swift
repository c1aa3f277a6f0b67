import Foundation
import Synchronization

/// Threads that begin together.
enum Team {
    /// Runs a body on a number of threads at once and returns the nanoseconds from the first beginning to the
    /// last end, and whether every thread had a core for itself all the while.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> (time: Double, isUndisturbed: Bool) {
        let ready = Shared(0)
        let times = Shared((first: UInt64.max, last: UInt64.min, share: 1.0))
        let done = DispatchSemaphore(value: 0)
        for number in 0..<count {
            Thread.detachNewThread {
                ready.withLock { $0 += 1 }
                while ready.withLock({ $0 }) < count { sched_yield() }
                let start = nanoseconds()
                let busyStart = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
                body(number)
                let busy = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - busyStart
                let end = nanoseconds()
                times.withLock {
                    $0 = (min($0.first, start), max($0.last, end), min($0.share, Double(busy) / Double(end - start)))
                }
                done.signal()
            }
        }
        for _ in 0..<count { done.wait() }
        return times.withLock { (Double($0.last - $0.first), $0.share > 0.95) }
    }
}

/// A value behind a mutex that several threads hold.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { body(&$0) }
    }
}
