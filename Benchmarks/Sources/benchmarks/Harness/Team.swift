import Foundation
import Synchronization

/// Threads that begin together.
enum Team {
    /// Runs a body on a number of threads at once and returns the nanoseconds from the first beginning to the last end.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Double {
        let ready = Shared(0)
        let times = Shared((first: UInt64.max, last: UInt64.min))
        let done = DispatchSemaphore(value: 0)
        for number in 0..<count {
            Thread.detachNewThread {
                ready.withLock { $0 += 1 }
                while ready.withLock({ $0 }) < count { sched_yield() }
                let start = nanoseconds()
                body(number)
                let end = nanoseconds()
                times.withLock { $0 = (min($0.first, start), max($0.last, end)) }
                done.signal()
            }
        }
        for _ in 0..<count { done.wait() }
        return times.withLock { Double($0.last - $0.first) }
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
