import Foundation
import Testing

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
final class SeededExecutor: TaskExecutor, @unchecked Sendable {
    private enum Step {
        case job(UnownedJob)
        case turn(UnsafeContinuation<Void, Never>)
    }

    private let steps = Locked<[Step]>([])
    /// Signalled for each step.
    private let added = DispatchSemaphore(value: 0)
    private var random: SeededGenerator

    init(seed: Int) { random = SeededGenerator(seed: seed) }

    func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Suspends the task until its turn comes.
    func turn() async { await withUnsafeContinuation { add(.turn($0)) } }

    private func add(_ step: Step) {
        steps.withLock { $0.append(step) }
        added.signal()
    }

    /// Runs a task, and whatever it starts, until nothing is left to run.
    ///
    /// - Parameter patience: How many milliseconds to wait for another thread, while the task has not ended.
    /// - Returns: Whether the task has ended.
    func run(patience: Int, _ body: @escaping @Sendable () async -> Void) -> Bool {
        precondition(SeededExecutor.current == nil, "one scenario at a time on a thread")
        SeededExecutor.current = self
        defer { SeededExecutor.current = nil }
        let hasEnded = Tally()
        Task(executorPreference: self) {
            await body()
            hasEnded.add()
        }
        while let step = next(within: hasEnded.value == 0 ? patience : 0) {
            switch step {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .turn(let continuation): continuation.resume()
            }
        }
        return hasEnded.value > 0
    }

    /// Takes out any of the steps. Waits for one, so many milliseconds.
    private func next(within patience: Int) -> Step? {
        guard added.wait(timeout: .now() + .milliseconds(patience)) == .success else { return nil }
        return steps.withLock { steps in
            // The last takes the place of the one taken out: any may be next anyway.
            steps.swapAt(Int.random(in: 0..<steps.count, using: &random), steps.count - 1)
            return steps.removeLast()
        }
    }
}

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
