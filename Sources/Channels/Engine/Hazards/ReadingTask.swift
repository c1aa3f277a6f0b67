/// The task that reads on a thread: kept in the record of the thread, and used there only.
struct ReadingTask {
    /// The identity of the task, compared only; 0 for none.
    private var task = 0
    private var start: UInt64 = 0

    /// When the turn of the calling task began: now, unless it has read on this thread without suspending.
    static func start(_ now: UInt64) -> UInt64 {
        // Compared only.
        let task = unsafe withUnsafeCurrentTask { task in unsafe task?.hashValue ?? 0 }
        let thread = ThreadReference.current
        if thread.pointee.reading.task != task { thread.pointee.reading = ReadingTask(task: task, start: now) }
        return thread.pointee.reading.start
    }

    /// The task suspends.
    static func end() { ThreadReference.current.pointee.reading = ReadingTask() }
}
