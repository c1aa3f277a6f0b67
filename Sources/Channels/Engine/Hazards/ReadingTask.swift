/// The task that reads sequences on a thread. Kept in the thread's record and used only there.
struct ReadingTask {
    /// The identity of the task, only ever compared; 0 for none.
    private var task = 0
    private var start: UInt64 = 0

    /// Returns when the calling task's turn began: now, unless the task has already been reading on this thread without
    /// suspending.
    static func start(_ now: UInt64) -> UInt64 {
        // Only compared.
        let task = unsafe withUnsafeCurrentTask { task in unsafe task?.hashValue ?? 0 }
        let thread = ThreadReference.current
        if thread.pointee.reading.task != task { thread.pointee.reading = ReadingTask(task: task, start: now) }
        return thread.pointee.reading.start
    }

    static func end() { ThreadReference.current.pointee.reading = ReadingTask() }
}
