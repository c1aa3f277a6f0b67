import Dispatch
import Testing

/// The executor of an actor that runs a job only when it is told to, and counts them.
final class HeldExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "held")
    private let jobs = Locked<[UnownedJob]>([])
    /// How long each job took.
    private let durations = Locked<[Duration]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// How many have been run.
    var count: Int { durations.withLock { $0.count } }

    /// How many took that long.
    func count(longerThan duration: Duration) -> Int { durations.withLock { $0.count { $0 > duration } } }

    /// Waits until so many stand there.
    func wait(for count: Int, sourceLocation: SourceLocation = #_sourceLocation) async {
        await ChannelsTests.wait(for: jobs.withLock { $0.count }, sourceLocation: sourceLocation) { $0 >= count }
    }

    /// Runs one of those that stand there.
    func run(at index: Int = 0) async {
        await wait(for: index + 1)
        let job = jobs.withLock { $0.remove(at: index) }
        // Not on this thread: it runs a task of its own.
        await withCheckedContinuation { continuation in
            queue.async {
                self.time(job)
                continuation.resume()
            }
        }
    }

    private func time(_ job: UnownedJob) {
        let start = ContinuousClock.now
        job.runSynchronously(on: asUnownedSerialExecutor())
        let duration = ContinuousClock.now - start
        durations.withLock { $0.append(duration) }
    }

    /// Runs what comes, in the order it came, until the condition holds.
    func run(until isOver: () -> Bool) async {
        while !isOver() {
            if jobs.withLock({ $0.isEmpty }) { await Task.yield() } else { await run() }
        }
    }
}

/// An actor whose jobs run when its executor is told to run them.
actor HeldActor {
    private let executor: HeldExecutor

    init(on executor: HeldExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ body: @Sendable (isolated HeldActor) -> Void) { body(self) }
}
