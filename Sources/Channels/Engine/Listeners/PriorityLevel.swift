/// The listeners of one priority in one chain, by the last of them.
///
/// Guarded by the lock of its list, except for the constants.
final class PriorityLevel: @unchecked Sendable {  // guards: see above
    let priority: Int
    let list: ListenerList
    let isForInterceptors: Bool
    /// The address of the last listener of this level, or 0. The list keeps it.
    @safe @exclusivity(unchecked) var tail: UInt = 0

    init(priority: Int, list: ListenerList, isForInterceptors: Bool) {
        self.priority = priority
        self.list = list
        self.isForInterceptors = isForInterceptors
    }
}
