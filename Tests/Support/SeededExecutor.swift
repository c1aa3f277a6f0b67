import Foundation
import Synchronization

/// Runs every job of a scenario on one thread, one at a time, and picks the next by lot: a seed is an order
/// in which tasks take turns.
///
/// It is the executor of tasks that prefer it, and, through the hook that the runtime has for this, of
/// everything that is handed to the global executor by the thread that runs the scenario: detached tasks, as
/// the library's mailboxes start them, and default actors. Tests that run elsewhere at the same time are not
/// touched. It covers tasks, not threads: between two suspension points nothing else runs.
///
/// A test beside it may look, with the sweeper of their threads, into the lists of the scenario. A task that
/// waits for the uses of a list is then resumed by that thread, so jobs come from others, too. Only tasks that
/// prefer this executor may wait for that: nothing tells it of others.
///
/// A scenario gives way with ``turn()``: `Task.yield()` on an actor goes past the hook, to the thread pool
/// (Swift 6.3).
///
/// Unchecked: `steps` has a lock; the one thread that runs the scenario uses the rest.
package final class SeededExecutor: TaskExecutor, @unchecked Sendable {
    private enum Step {
        case job(UnownedJob)
        case turn(UnsafeContinuation<Void, Never>)
    }

    /// What can run, in an order that does not depend on who was resumed first: the order in which a set of tasks is
    /// resumed may be another one in the next process.
    private struct Steps {
        private var steps: [(rank: UInt64, step: Step)] = []
        private var turns = UInt64(1) << 63

        var isEmpty: Bool { steps.isEmpty }

        mutating func add(_ step: Step) {
            let rank: UInt64
            switch step {
            case .job(let job): rank = taskID(of: job)
            case .turn:
                turns += 1
                rank = turns
            }
            let place = steps.lastIndex { $0.rank <= rank }
            steps.insert((rank, step), at: place.map { $0 + 1 } ?? 0)
        }

        mutating func take(_ random: inout SeededGenerator) -> Step {
            steps.remove(at: Int.random(in: steps.indices, using: &random)).step
        }
    }

    private let steps = Mutex(Steps())
    /// Signalled for each step.
    private let added = DispatchSemaphore(value: 0)
    private var random: SeededGenerator
    /// The task that waits until nothing else is left to run.
    private var resting: UnsafeContinuation<Void, Never>?

    package init(seed: Int) { random = SeededGenerator(seed: seed) }

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Suspends the task until its turn comes.
    package func turn() async { await withUnsafeContinuation { add(.turn($0)) } }

    /// Suspends the task until nothing else is left to run. Only one task may wait for that.
    package func rest() async {
        await withUnsafeContinuation { continuation in
            precondition(resting == nil, "one task rests at a time")
            resting = continuation
        }
    }

    private func add(_ step: Step) {
        steps.withLock { $0.add(step) }
        added.signal()
    }

    /// Runs a task, and whatever it starts, until nothing is left to run.
    ///
    /// - Parameter patience: How many milliseconds to wait for another thread, while the task has not ended.
    /// - Returns: Whether the task has ended.
    package func run(patience: Int, _ body: @escaping @Sendable () async -> Void) -> Bool {
        precondition(SeededExecutor.current == nil, "one scenario at a time on a thread")
        SeededExecutor.current = self
        stopTime(true)
        defer {
            SeededExecutor.current = nil
            stopTime(false)
        }
        let hasEnded = Tally()
        Task(executorPreference: self) {
            await body()
            hasEnded.add()
        }
        while let step = next(within: hasEnded.value == 0 && resting == nil ? patience : 0) {
            switch step {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .turn(let continuation): continuation.resume()
            }
        }
        return hasEnded.value > 0
    }

    /// Takes out any of the steps. Waits for one, so many milliseconds.
    private func next(within patience: Int) -> Step? {
        guard added.wait(timeout: .now() + .milliseconds(patience)) == .success else {
            defer { resting = nil }
            return resting.map { .turn($0) }
        }
        return steps.withLock { $0.take(&random) }
    }
}

/// Turns end after so many calls or after a time. Declared by the library's C code.
@_silgen_name("channels_stop_time") private func stopTime(_ stops: Bool)

/// The number of a task: one that was created later has a higher one. Declared by the runtime.
@_silgen_name("swift_task_getJobTaskId") private func taskID(of job: UnownedJob) -> UInt64

// MARK: - The runtime's hook

extension SeededExecutor {
    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The executor whose scenario runs on this thread.
    private static var current: SeededExecutor? {
        get { pthread_getspecific(key).map { Unmanaged<SeededExecutor>.fromOpaque($0).takeUnretainedValue() } }
        set {
            _ = isHooked
            pthread_setspecific(key, newValue.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
        }
    }

    /// Installs the hook, once in the process.
    private static let isHooked: Bool = {
        guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("the runtime has no hook for the global executor")
        }
        let hook: Hook = { job, original in
            guard let executor = SeededExecutor.current else { return original(job) }
            executor.add(.job(job))
        }
        // The runtime declares it as a pointer to a function of this type, which it calls where it is not
        // null.
        symbol.assumingMemoryBound(to: Hook?.self).pointee = hook
        return true
    }()
}
