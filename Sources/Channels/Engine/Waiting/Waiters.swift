/// The tasks that wait, each until something of its own has happened. Guarded by the lock of its owner, without which
/// those taken out are resumed: that runs user code.
struct Waiters<Condition> {
    typealias Continuation = CheckedContinuation<Void, Never>

    private var waiting: [(condition: Condition, continuation: Continuation)] = []

    var isEmpty: Bool { waiting.isEmpty }

    var count: Int { waiting.count }

    mutating func add(_ continuation: Continuation, until condition: Condition) {
        waiting.append((condition, continuation))
    }

    /// Takes out those whose condition holds, in the order in which they began to wait. Asks once for each: the answer
    /// may be another a moment later.
    mutating func take(where holds: (Condition) -> Bool) -> [Continuation] {
        var taken: [Continuation] = []
        waiting.removeAll { waiter in
            guard holds(waiter.condition) else { return false }
            taken.append(waiter.continuation)
            return true
        }
        return taken
    }

    /// Suspends the task.
    /// - Parameter keeps: Adds the continuation to waiters, under their lock; or returns false, so as not to suspend.
    static func suspend(_ keeps: (Continuation) -> Bool) async {
        await withCheckedContinuation { if !keeps($0) { $0.resume() } }
    }
}

extension [CheckedContinuation<Void, Never>] {
    func resume() { for continuation in self { continuation.resume() } }
}
