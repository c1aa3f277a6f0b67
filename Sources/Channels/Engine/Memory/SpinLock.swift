internal import CChannels
internal import Synchronization

// The flag lets tests compile what is used on Apple's systems.
#if canImport(Darwin) || AS_ON_APPLE
/// A lock for critical sections of a few dozen instructions of this library's own code. On Apple's systems it is the
/// unfair lock, which donates priority; on others it spins, yields, then sleeps.
struct SpinLock: ~Copyable, Sendable {
    private let mutex = Mutex<Void>(())

    @inline(__always)
    func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        // `Mutex` would put the result into a region of its own, because it guards a value. Here it guards no value:
        // each user of the lock states what it guards.
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
/// A lock for critical sections of a few dozen instructions of this library's own code. It spins, yields the processor,
/// then sleeps. A lock that parks in the kernel at once would make sixteen posters queue for hundreds of microseconds
/// behind one that was preempted.
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

    /// Not inlined, because the optimizer might then sink a retain of a guarded object below the store.
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
