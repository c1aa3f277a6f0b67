internal import Synchronization

/// The tasks that wait for a message of one sequence. A mutex guards them; it is not held to resume them.
@usableFromInline
final class SequenceReaders: Sendable {
    private struct Waiting {
        var next = 0
        var readers = Waiters<Int>()
    }

    private let waiting = Locked(Waiting())
    /// The number of waiting readers, which a post checks first.
    private let count = Atomic<Int>(0)

    func newReader() -> Int {
        waiting.withLock {
            $0.next += 1
            return $0.next
        }
    }

    func wait(_ continuation: CheckedContinuation<Void, Never>, as reader: Int) {
        waiting.withLock {
            $0.readers.add(continuation, until: reader)
            count.store($0.readers.count, ordering: .sequentiallyConsistent)
        }
    }

    func wake(_ reader: Int) { resume { $0 == reader } }

    /// Whether a reader may wait. One that begins to now checks for messages afterwards.
    var mayWait: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    /// Resumes the reader that has waited longest. Called after a message was enqueued under the mailbox's
    /// lock; a reader, once counted, checks again under that lock.
    @inline(__always)
    func wakeOne() { if mayWait { wakeFirst() } }

    @inline(never)
    private func wakeFirst() { resume { _ in true } }

    func wakeAll() {
        while mayWait { wakeFirst() }
    }

    @inline(never)
    private func resume(_ isChosen: (_ reader: Int) -> Bool) {
        let continuation = waiting.withLock { waiting in
            defer { count.store(waiting.readers.count, ordering: .sequentiallyConsistent) }
            return waiting.readers.takeFirst(where: isChosen)
        }
        continuation?.resume()
    }
}
