/// The calls of an async listener that may overlap, each in a task of its own.
///
/// Guarded by the lane's lock, but for the constants. What is returned is done without it: cancelling a task and
/// resuming a continuation run the code of others.
final class RunningCalls: @unchecked Sendable {  // guards: see above
    let overlapping: OverlappingPolicy
    private var count = 0
    /// The task of the one call under ``OverlappingPolicy/replace``; nil before it is known.
    @safe @exclusivity(unchecked) private var task: Task<Void, Never>?
    /// Whether that call is to make way for another.
    private(set) var isReplaced = false
    /// Those who wait until fewer calls run, by how many may at most.
    private var waiters = Waiters<Int>()

    init(_ overlapping: OverlappingPolicy) { self.overlapping = overlapping }

    /// A message has been taken for a call.
    func begin() {
        count += 1
        isReplaced = false
    }

    /// The call has a task. Returns whether that is to be cancelled: another message has arrived.
    func began(_ task: Task<Void, Never>) -> Bool {
        if count > 0, overlapping.kind == .replace { self.task = task }
        return isReplaced
    }

    /// A message arrives, or the listener is cancelled. Returns the task to cancel.
    func replace() -> Task<Void, Never>? {
        guard overlapping.kind == .replace, count > 0 else { return nil }
        isReplaced = true
        return task
    }

    /// A call has ended. Returns those to resume.
    func end() -> [CheckedContinuation<Void, Never>] {
        count -= 1
        task = nil
        return waiters.take { count <= $0 }
    }

    /// Keeps a task waiting until at most so many calls run. Returns whether more do now.
    func wait(_ continuation: CheckedContinuation<Void, Never>, most: Int) -> Bool {
        guard count > most else { return false }
        waiters.add(continuation, until: most)
        return true
    }
}
