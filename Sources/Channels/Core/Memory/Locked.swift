internal import CChannels
internal import Synchronization

#if canImport(Darwin)
/// A value behind a lock, on which threads wait in the kernel: for sections that may take longer than a few
/// dozen instructions.
package typealias Locked<Value: ~Copyable> = Mutex<Value>

extension Mutex where Value: ~Copyable {
    /// As it is; it decides by itself whether to spin.
    package init(_ initial: consuming sending Value, spins: Bool) {
        self.init(initial)
    }
}
#else
/// A value behind a lock, on which threads wait in the kernel: for sections that may take longer than a few
/// dozen instructions.
///
/// A mutex of the C library, because the thread sanitizer knows it. The slow path of `Mutex` is in a library
/// that is not instrumented on Linux (Swift 6.3), so that whoever runs tests under the sanitizer would see
/// false reports inside our locks.
@safe
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {  // `value` is reached with the lock held only
    private let lock: OpaquePointer
    private let value: UnsafeMutablePointer<Value>

    /// - Parameter spins: Whether a thread that finds the lock taken looks again before it sleeps: for short
    ///   sections that many threads want.
    package init(_ initial: consuming Value, spins: Bool = false) {
        // Both belong to this value alone, and are given back in its deinit.
        unsafe lock = channels_lock_make(spins)
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initial)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        unsafe channels_lock_free(lock)
    }

    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe channels_lock(lock)
        defer { unsafe channels_unlock(lock) }
        return try unsafe body(&value.pointee)
    }
}
#endif
