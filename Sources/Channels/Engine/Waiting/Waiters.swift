/// The tasks that wait, each for its own condition. Guarded by the lock of its owner. Tasks taken out are resumed
/// without the lock, because that may run user code.
struct Waiters<Condition> {
    typealias Continuation = CheckedContinuation<Void, Never>

    private var waiting: [(condition: Condition, continuation: Continuation)] = []

    var isEmpty: Bool { waiting.isEmpty }

    var count: Int { waiting.count }

    mutating func add(_ continuation: Continuation, until condition: Condition) {
        waiting.append((condition, continuation))
    }

    /// Takes out the tasks whose condition holds, in the order in which they began to wait. Evaluates each condition
    /// only once, because the answer may change a moment later.
    mutating func take(where holds: (Condition) -> Bool) -> [Continuation] {
        var taken: [Continuation] = []
        waiting.removeAll { waiter in
            guard holds(waiter.condition) else { return false }
            taken.append(waiter.continuation)
            return true
        }
        return taken
    }

    /// Suspends the calling task.
    /// - Parameter keeps: Adds the continuation to the waiters, under their lock, or returns false, so that the task
    ///   does not suspend.
    static func suspend(_ keeps: (Continuation) -> Bool) async {
        await withCheckedContinuation { if !keeps($0) { $0.resume() } }
    }
}

extension [CheckedContinuation<Void, Never>] {
    func resume() { for continuation in self { continuation.resume() } }
}
