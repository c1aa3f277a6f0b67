internal import CChannels
internal import Synchronization

// The flag is for tests of what Apple's systems compile.
#if canImport(Darwin) || AS_ON_APPLE
/// A lock for sections of a few dozen instructions in which nothing but this library's own code runs.
///
/// On Apple's systems it is the system's unfair lock, which donates priority. Elsewhere it spins, then yields
/// the processor, then sleeps: a lock that parks in the kernel at once makes sixteen posters queue for
/// hundreds of microseconds behind one that was preempted.
struct SpinLock: ~Copyable, Sendable {
    private let mutex = Mutex<Void>(())

    @inline(__always)
    func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        // `Mutex` would have the result be of a region of its own, because it guards a value. This guards none: whoever
        // takes it says what it guards.
        var result: Result?
        mutex.withLock { _ in result = body() }
        return result.take()!
    }

    @inline(__always)
    func withLockIfAvailable(_ body: () -> Void) -> Bool {
        mutex.withLockIfAvailable { _ in body() } != nil
    }
}
#else
/// A lock for sections of a few dozen instructions in which nothing but this library's own code runs.
///
/// It spins, then yields the processor, then sleeps: a lock that parks in the kernel at once makes sixteen
/// posters queue for hundreds of microseconds behind one that was preempted. On Apple's systems it is the
/// system's unfair lock.
struct SpinLock: ~Copyable, Sendable {
    private let isHeld = Atomic<Bool>(false)

    @inline(__always)
    func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        if isHeld.exchange(true, ordering: .acquiring) { waitForIt() }
        let result = body()
        unlock()
        return result
    }

    @inline(__always)
    func withLockIfAvailable(_ body: () -> Void) -> Bool {
        guard !isHeld.exchange(true, ordering: .acquiring) else { return false }
        body()
        unlock()
        return true
    }

    /// Not inlined, so that the optimiser cannot sink a retain of something the lock guards below the store
    /// that releases it.
    @inline(never)
    private func unlock() { isHeld.store(false, ordering: .releasing) }

    @inline(never)
    private func waitForIt() {
        var rounds = 0
        repeat {
            while isHeld.load(ordering: .relaxed) {
                rounds += 1
                if rounds < 64 {
                    channels_spin_hint()
                } else {
                    channels_yield(rounds > 1_024)
                }
            }
        } while isHeld.exchange(true, ordering: .acquiring)
    }
}
#endif
