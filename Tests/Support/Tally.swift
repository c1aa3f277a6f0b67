import Foundation
import Synchronization
package import Testing

/// A counter that any thread may change.
package final class Tally: Sendable {
    private let storage: Atomic<Int>

    package init(_ value: Int = 0) { storage = Atomic(value) }

    package var value: Int { storage.load(ordering: .sequentiallyConsistent) }

    /// Adds one; returns the value before.
    @discardableResult
    package func add(_ amount: Int = 1) -> Int {
        storage.wrappingAdd(amount, ordering: .sequentiallyConsistent).oldValue
    }

    package func set(_ value: Int) { storage.store(value, ordering: .sequentiallyConsistent) }

    /// Sets it to a value that is larger.
    package func raise(to value: Int) { storage.max(value, ordering: .sequentiallyConsistent) }

    /// Gives way to other threads until the counter has reached a value.
    package func spin(until value: Int) { while self.value < value { sched_yield() } }

    /// Gives way to other tasks until the counter has reached a value.
    package func wait(until value: Int, sourceLocation: SourceLocation = #_sourceLocation) async {
        await TestSupport.wait(for: self.value, sourceLocation: sourceLocation) { $0 >= value }
    }

    /// Gives way to other tasks until the counter has fallen to a value.
    package func wait(untilAtMost value: Int, sourceLocation: SourceLocation = #_sourceLocation) async {
        await TestSupport.wait(for: self.value, sourceLocation: sourceLocation) { $0 <= value }
    }
}
