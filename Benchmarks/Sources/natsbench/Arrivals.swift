import Synchronization

/// Counts what arrives and wakes who waits for the last. Guarded by `state`.
final class Arrivals: Sendable {
    private let count = Atomic<Int>(0)
    private let target = Atomic<Int>(0)
    private let waiter = Mutex<CheckedContinuation<Void, Never>?>(nil)

    func arrived() {
        let now = count.add(1, ordering: .sequentiallyConsistent).newValue
        if now == target.load(ordering: .sequentiallyConsistent) { take()?.resume() }
    }

    /// Expects so many more; call it before they are sent.
    func expect(_ more: Int) {
        target.store(count.load(ordering: .sequentiallyConsistent) + more, ordering: .sequentiallyConsistent)
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            waiter.withLock { $0 = continuation }
            if count.load(ordering: .sequentiallyConsistent) >= target.load(ordering: .sequentiallyConsistent) {
                take()?.resume()
            }
        }
    }

    private func take() -> CheckedContinuation<Void, Never>? {
        waiter.withLock { waiter in
            defer { waiter = nil }
            return waiter
        }
    }
}
