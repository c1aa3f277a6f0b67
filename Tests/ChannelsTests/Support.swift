import Channels
import ChannelsDiagnostics
import Dispatch
import Foundation
@_exported public import TestSupport
import Testing

/// A value behind a lock. `NSLock` rather than `Mutex`: the thread sanitizer reports races inside a contended
/// `Mutex` that are none.
///
/// Unchecked because the compiler does not see that `value` is used under `lock` only.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}

/// A variable for closures that run on any thread.
final class Slot<Value: Sendable>: Sendable {
    private let storage: Locked<Value?>

    init(_ value: Value? = nil) { storage = Locked(value) }

    var value: Value? {
        get { storage.withLock { $0 } }
        set {
            // What is replaced is released without the mutex: its deinit may come back here.
            let replaced = storage.withLock { current in
                let replaced = current
                current = newValue
                return replaced
            }
            withExtendedLifetime(replaced) {}
        }
    }
}

protocol Sounding: AnyObject, Sendable { func sound() }

/// An observer that counts its calls.
final class Bell: Sounding {
    let calls = Tally()
    private let atCall: @Sendable () -> Void

    init(atCall: @escaping @Sendable () -> Void = {}) { self.atCall = atCall }

    func sound() {
        calls.add()
        atCall()
    }
}

/// An object that counts how many of its kind live: a message, or what a closure captures.
final class Witness: Sendable {
    private let living: Tally
    let number: Int

    init(_ living: Tally, _ number: Int = 0) {
        self.living = living
        self.number = number
        living.add()
    }

    deinit { living.add(-1) }
}

/// Posts without the isolation of its caller.
func postFromElsewhere(_ message: Int, on channel: Channel<Int>) { channel.post(message) }

/// Runs a body on a thread of its own while the caller waits for it.
func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        ended.signal()
    }
    ended.wait()
}

extension DispatchQueue {
    /// Suspends until what the queue holds now has run.
    func settle() async {
        await withCheckedContinuation { continuation in async(flags: .barrier) { continuation.resume() } }
    }

    /// A serial queue that runs nothing until it is resumed.
    static func suspended(_ label: String = "suspended") -> DispatchQueue {
        let queue = DispatchQueue(label: label)
        queue.suspend()
        return queue
    }
}

/// Ends a process that hangs, for tests that run in a process of their own, after more time than a wait may take.
func endIfItHangs(sourceLocation: SourceLocation = #_sourceLocation) {
    Thread.detachNewThread {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 900)
        Issue.record("the process of this test still runs after a quarter of an hour", sourceLocation: sourceLocation)
        exit(EXIT_FAILURE)
    }
}

extension Switchboard {
    /// What the snapshot says of a channel, watched or not; of a pattern if there is none of that name. The test has to
    /// hold a named channel: one that nobody holds is gone.
    func shown(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> ChannelSnapshot {
        let snapshot = snapshot()
        let all = snapshot.channels + snapshot.watched + snapshot.patterns
        return try #require(all.first { $0.name == name }, sourceLocation: sourceLocation)
    }
}

struct Trouble: Error, Equatable {
    var text = "trouble"
}

/// An actor that notes what it is told.
actor Clerk {
    private(set) var notes: [Int] = []

    func note(_ number: Int) { notes.append(number) }
}

/// Posts on threads, as often as they can, while a body runs.
///
/// - Parameter body: Of a higher priority, so that it waits for no task of another test, while the threads take the
///   processors.
func whilePosting(on channel: Channel<Int>, threads: Int, _ body: @escaping @Sendable () async -> Void) async {
    let isOver = Tally()
    async let posting: Void = onThreads(threads) { _ in while isOver.value == 0 { channel.post(1) } }
    await Task<Void, Never>(priority: .high) { await body() }.value
    isOver.add()
    await posting
}
