internal import CChannels

/// A value behind a mutex, for sections that may be longer than a few dozen instructions. Uses the C library's mutex,
/// because on Linux (Swift 6.3) the slow path of `Mutex` is in an uninstrumented library, so that the thread sanitizer
/// would report false races in the tests of every app.
@safe
@usableFromInline
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {  // `value` is reached with the lock held only
    // Used in this file only; visible so that the compiler can specialize calls from other targets.
    @usableFromInline package let lock: OpaquePointer
    @usableFromInline package let value: UnsafeMutablePointer<Value>

    /// - Parameter spins: Whether a thread spins before it sleeps: for short, contended sections.
    package init(_ initial: consuming Value, spins: Bool = false) {
        // Only this value owns the lock and the memory, and it frees both in its deinit.
        unsafe lock = channels_lock_make(spins)
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initial)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        unsafe channels_lock_free(lock)
    }

    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe acquireLock(lock)
        defer { unsafe releaseLock(lock) }
        return try unsafe body(&value.pointee)
    }
}

/// Acquires a lock, for targets that do not see the C functions.
@usableFromInline
package func acquireLock(_ lock: OpaquePointer) { unsafe channels_lock(lock) }

/// Releases a lock, for targets that do not see the C functions.
@usableFromInline
package func releaseLock(_ lock: OpaquePointer) { unsafe channels_unlock(lock) }
