import Foundation
import Synchronization

/// A generator whose numbers are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

/// A counter that any thread may change.
final class Tally: Sendable {
    private let storage = Atomic<Int>(0)

    var value: Int { storage.load(ordering: .sequentiallyConsistent) }

    @discardableResult
    func add(_ amount: Int = 1) -> Int { storage.add(amount, ordering: .sequentiallyConsistent).newValue }
}

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

/// What several threads collect.
final class Collected<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    func add(_ element: Element) { elements.withLock { $0.append(element) } }

    var count: Int { elements.withLock { $0.count } }

    var all: [Element] { elements.withLock { $0 } }
}

/// Runs a body on several threads of their own, which begin together, and suspends until all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    let ready = Tally()
    let ended = Tally()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for index in 0..<count {
            let thread = Thread {
                ready.add()
                while ready.value < count { sched_yield() }
                body(index)
                if ended.add() == count { continuation.resume() }
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }
}

/// Ends the process when a phase takes longer than any can: a wake-up was lost, or there is a deadlock.
final class Watchdog: Sendable {
    private let seconds: Int
    private let phase = Locked((name: "", started: ContinuousClock.now))

    private let isVerbose: Bool

    init(seconds: Int, isVerbose: Bool) {
        self.seconds = seconds
        self.isVerbose = isVerbose
        Thread.detachNewThread { [self] in
            while true {
                Thread.sleep(forTimeInterval: 1)
                let (name, started) = phase.withLock { $0 }
                guard ContinuousClock.now - started > .seconds(seconds) else { continue }
                standardError(
                    "FAILED: \(name) has not ended after \(seconds) s: something waits for what does not come"
                )
                exit(1)
            }
        }
    }

    func begins(_ name: String) {
        let (last, started) = phase.withLock { phase in
            defer { phase = (name, .now) }
            return phase
        }
        if isVerbose, !last.isEmpty { standardError("\(ContinuousClock.now - started) for \(last)") }
    }
}

func standardError(_ line: String) {
    FileHandle.standardError.write(Data((line + "\n").utf8))
}
