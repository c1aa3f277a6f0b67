import Foundation
import Synchronization

struct Found: Error, CustomStringConvertible {
    let description: String
}

func require(_ condition: Bool, _ found: @autoclosure () -> String) throws {
    if !condition { throw Found(description: found()) }
}

final class Counter: Sendable {
    private let storage = Atomic<Int>(0)
    var value: Int { storage.load(ordering: .sequentiallyConsistent) }
    func add(_ amount: Int = 1) { storage.add(amount, ordering: .sequentiallyConsistent) }
}

/// What was heard, on any thread.
///
/// Unchecked: used under the lock only.
final class Heard: @unchecked Sendable {
    private let lock = NSLock()
    private var numbers: [Int] = []
    func add(_ number: Int) { lock.withLock { numbers.append(number) } }
    var all: [Int] { lock.withLock { numbers } }
}

/// A registration that its own listener can reach.
///
/// Unchecked: used under the lock only.
final class Slot: @unchecked Sendable {
    private let lock = NSLock()
    private var registration: Registration?
    func set(_ registration: Registration) { lock.withLock { self.registration = registration } }
    func cancel() { lock.withLock { registration }?.cancel() }
}

/// Counts how many of its kind live.
final class Witness: Sendable {
    private let living: Counter
    init(_ living: Counter) {
        self.living = living
        living.add()
    }
    deinit { living.add(-1) }
}

/// Runs a body on several threads, which begin together, and waits for them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let ready = Counter()
    let ended = DispatchSemaphore(value: 0)
    for index in 0..<count {
        Thread.detachNewThread {
            ready.add()
            while ready.value < count { sched_yield() }
            body(index)
            ended.signal()
        }
    }
    for _ in 0..<count { ended.wait() }
}
