import Channels
import Dispatch
import Foundation
import Synchronization
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

/// A counter that any thread may change.
final class Tally: Sendable {
    private let storage: Atomic<Int>

    init(_ value: Int = 0) { storage = Atomic(value) }

    var value: Int { storage.load(ordering: .sequentiallyConsistent) }

    /// Adds one; returns the value before.
    @discardableResult
    func add(_ amount: Int = 1) -> Int { storage.wrappingAdd(amount, ordering: .sequentiallyConsistent).oldValue }

    func set(_ value: Int) { storage.store(value, ordering: .sequentiallyConsistent) }

    /// Sets it to a value that is larger.
    func raise(to value: Int) { storage.max(value, ordering: .sequentiallyConsistent) }

    /// Gives way to other threads until the counter has reached a value.
    func spin(until value: Int) { while self.value < value { sched_yield() } }

    /// Gives way to other tasks until the counter has reached a value.
    func wait(until value: Int, sourceLocation: SourceLocation = #_sourceLocation) async {
        await ChannelsTests.wait(for: self.value, sourceLocation: sourceLocation) { $0 >= value }
    }

    /// Gives way to other tasks until the counter has fallen to a value.
    func wait(untilAtMost value: Int, sourceLocation: SourceLocation = #_sourceLocation) async {
        await ChannelsTests.wait(for: self.value, sourceLocation: sourceLocation) { $0 <= value }
    }
}

/// Gives way to other tasks until a value is as it should be. What takes ten minutes, however busy the machine is,
/// hangs: then it says what the value was.
func wait<Value>(
    for value: @autoclosure () -> Value,
    sourceLocation: SourceLocation = #_sourceLocation,
    until isEnough: (Value) -> Bool
) async {
    let end = ContinuousClock.now + .seconds(600)
    while !isEnough(value()) {
        guard ContinuousClock.now < end else {
            Issue.record("waited here for ten minutes, and had \(value())", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
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

/// An object that owns listeners and may do something when it goes.
final class Owner: Sendable {
    private let atEnd: @Sendable () -> Void

    init(atEnd: @escaping @Sendable () -> Void = {}) { self.atEnd = atEnd }

    deinit { atEnd() }
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

/// Runs a body on several threads of their own, which begin together, and suspends until all have ended.
///
/// - Parameter stackSize: A thousand nested posts fit in debug builds, and under the address sanitizer, whose frames
///   are large.
func onThreads(_ count: Int, stackSize: Int = 64 << 20, _ body: @escaping @Sendable (Int) -> Void) async {
    let ready = Tally()
    let ended = Tally()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for index in 0..<count {
            let thread = Thread {
                ready.add()
                ready.spin(until: count)
                body(index)
                if ended.add() == count - 1 { continuation.resume() }
            }
            thread.stackSize = stackSize
            thread.start()
        }
    }
}

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

/// A generator whose numbers are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The seed of a randomised test. Where the test fails, its argument is shown: the seed, with the command that repeats it.
struct Seed: Sendable, CustomStringConvertible {
    let number: Int
    private let suite: String

    var description: String {
        "\(number), again with CHANNELS_SEED=\(number) swift test --disable-xctest --filter \(suite)"
    }

    /// As many seeds, or the one that `CHANNELS_SEED` asks for, of the suite that has the name of its file.
    static func first(_ count: Int, fileID: String = #fileID) -> [Seed] {
        let suite = fileID.split { "/.".contains($0) }.dropLast().last ?? ""
        return numbers(count).map { Seed(number: $0, suite: String(suite)) }
    }

    func advanced(by count: Int) -> Seed { Seed(number: number + count, suite: suite) }

    static func numbers(_ count: Int) -> Range<Int> {
        guard let seed = ProcessInfo.processInfo.environment["CHANNELS_SEED"].flatMap({ Int($0) }) else {
            return 0..<count
        }
        return seed..<seed + 1
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
    /// What the snapshot says of a channel, watched or not, or of a pattern.
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
