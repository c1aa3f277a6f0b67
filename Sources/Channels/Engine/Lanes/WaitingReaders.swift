/// The readers of a sequence that wait, in the order in which they began to. Guarded by its owner's lock; readers taken
/// out are resumed without it.
struct WaitingReaders: ~Copyable {
    typealias Continuation = CheckedContinuation<Void, Never>

    private var continuations: [Int: Continuation] = [:]
    /// The numbers of the waiting readers, and of some that no longer wait: at most about as many.
    private var order = Queue<Int>()
    private var count = 0

    var isEmpty: Bool { continuations.isEmpty }

    /// - Parameter reader: A number that no other reader has or had.
    mutating func add(_ continuation: Continuation, of reader: Int) {
        continuations[reader] = continuation
        order.append(reader)
        count += 1
    }

    /// Takes out the reader that has waited longest.
    mutating func takeFirst() -> Continuation? {
        while let reader = order.popFirst() {
            count -= 1
            if let continuation = continuations.removeValue(forKey: reader) { return continuation }
        }
        return nil
    }

    /// Takes out a reader, if it waits.
    mutating func take(_ reader: Int) -> Continuation? {
        let taken = continuations.removeValue(forKey: reader)
        if count > 2 * continuations.count + 16 { forgetTheGone() }
        return taken
    }

    mutating func takeAll() -> [Continuation] {
        var taken: [Continuation] = []
        while let next = takeFirst() { taken.append(next) }
        return taken
    }

    private mutating func forgetTheGone() {
        var living = Queue<Int>()
        while let reader = order.popFirst() {
            if continuations[reader] != nil { living.append(reader) }
        }
        order = living
        count = continuations.count
    }
}
