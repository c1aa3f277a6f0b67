internal import Synchronization

/// Counts the messages of a durable route whose ends its listener has yet to hear.
///
/// A message is published from when it is taken, before the listener's lane is asked for a place. If that refuses it,
/// because too many have followed from one, nobody will hear its end: it leaves when it is released.
///
/// All state is atomic or constant. It never waits for a lock while another is held, so a message may be released
/// under any.
final class Unheard: Sendable {
    private let count = Atomic<Int>(0)
    private let isAwaited = Atomic<Bool>(false)
    /// Rings when what ``wait(while:)`` waits for may have come.
    private let bell = Bell()

    func enter() { count.wrappingAdd(1, ordering: .relaxed) }

    func leave() {
        // Either this sees that it is awaited, or who waits sees that it has left.
        let left = count.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
        if left == 0, isAwaited.load(ordering: .sequentiallyConsistent) { bell.ring() }
    }

    /// Suspends until none is left, or a condition that was false when ``lookAgain()`` was called. For one task.
    func wait(while condition: () -> Bool) async {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        while condition(), count.load(ordering: .sequentiallyConsistent) > 0 { await bell.wait() }
    }

    func lookAgain() { bell.ring() }
}
