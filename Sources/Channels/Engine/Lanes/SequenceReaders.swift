internal import Synchronization

/// The tasks that wait for a message of one sequence. A mutex guards them; it is not held to resume them.
@usableFromInline
final class SequenceReaders: Sendable {
    private struct Waiting {
        var next = 0
        var readers: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
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
            $0.readers.append((reader, continuation))
            count.store($0.readers.count, ordering: .sequentiallyConsistent)
        }
    }

    func wake(_ reader: Int) { resume { $0.firstIndex { $0.id == reader } } }

    /// Whether a reader may wait. One that begins to now checks for messages afterwards.
    var mayWait: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    /// Resumes the reader that has waited longest. Called after a message was enqueued under the mailbox's
    /// lock; a reader, once counted, checks again under that lock.
    @inline(__always)
    func wakeOne() { if mayWait { wakeFirst() } }

    @inline(never)
    private func wakeFirst() { resume { $0.isEmpty ? nil : 0 } }

    func wakeAll() {
        while count.load(ordering: .sequentiallyConsistent) > 0 { resume { $0.isEmpty ? nil : 0 } }
    }

    @inline(never)
    private func resume(_ choose: ([(id: Int, continuation: CheckedContinuation<Void, Never>)]) -> Int?) {
        let continuation = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard let index = choose(waiting.readers) else { return nil }
            let reader = waiting.readers.remove(at: index)
            count.store(waiting.readers.count, ordering: .sequentiallyConsistent)
            return reader.continuation
        }
        continuation?.resume()
    }
}
