public import Channels

/// Records elements from any thread, and lets a test wait for them without sleeping.
///
/// ```swift
/// let recorder = Recorder(of: till.sold)
/// till.sold.post(Sale(total: 12))
/// #expect(recorder.all == [Sale(total: 12)])
/// ```
///
/// To wait for messages from other threads or tasks, use ``next(_:timeout:fileID:line:)``:
///
/// ```swift
/// let sales = try await recorder.next(3, timeout: .seconds(1))
/// ```
///
/// You can also record in a listener of your own: `{ sale in recorder.record(sale.total) }`. If the listener runs after
/// `post` has returned, for example on an actor, wait with ``next(_:timeout:fileID:line:)``, ``first(_:)`` or
/// ``wait(until:)``.
public final class Recorder<Element: Sendable>: Sendable {
    /// The condition that a task waits for.
    enum Need {
        /// At least this many elements.
        case count(Int)
        /// Any change since a mark.
        case change(since: Mark)
        /// This many elements that no `next` has returned yet.
        case next(Int)
    }

    /// A state of the recorder at some moment, for finding what has changed since.
    struct Mark: Equatable {
        /// How often the recorder had been emptied.
        var emptied = 0
        /// How many elements had been recorded since then.
        var count = 0
    }

    /// How a wait ended.
    struct Outcome: Sendable {
        /// The elements waited for (none for a change); nil if they did not arrive.
        var enough: [Element]?
        /// All elements recorded by then (none for a change).
        var all: [Element]
        /// How many of them earlier calls of `next` have returned.
        var read: Int
    }

    private struct Waiter {
        let number: Int
        let need: Need
        let continuation: CheckedContinuation<Outcome, Never>
    }

    /// Guarded by the recorder's lock; continuations are resumed without it.
    private struct State {
        var elements: [Element] = []
        var emptied = 0
        /// How many of the elements `next` has returned.
        var read = 0
        var lastNumber = 0
        var waiters: [Waiter] = []

        /// Returns the elements that satisfy a need; nil if it is not satisfied. Elements returned to a `next` count as
        /// read.
        mutating func satisfy(_ need: Need) -> [Element]? {
            switch need {
            case .count(let count):
                return elements.count >= count ? elements : nil
            case .change(let mark):
                return self.mark != mark ? [] : nil
            case .next(let count):
                guard elements.count - read >= count else { return nil }
                defer { read += count }
                return Array(elements[read..<read + count])
            }
        }

        var mark: Mark { Mark(emptied: emptied, count: elements.count) }

        /// An outcome for a change does not include the elements: while it held them, recording another would copy them
        /// all.
        func outcome(_ enough: [Element]?, of need: Need) -> Outcome {
            if case .change = need { return Outcome(enough: enough, all: [], read: read) }
            return Outcome(enough: enough, all: elements, read: read)
        }

        var hasReaders: Bool { waiters.contains { $0.need.isNext } }

        /// Removes the waiters that are satisfied, and returns them with their outcomes. Calls of `next` are served in
        /// order.
        mutating func takeSatisfied() -> [(CheckedContinuation<Outcome, Never>, Outcome)] {
            var satisfied: [(CheckedContinuation<Outcome, Never>, Outcome)] = []
            var left: [Waiter] = []
            var readerWaits = false
            for waiter in waiters {
                if !(waiter.need.isNext && readerWaits), let enough = satisfy(waiter.need) {
                    satisfied.append((waiter.continuation, outcome(enough, of: waiter.need)))
                } else {
                    left.append(waiter)
                    if waiter.need.isNext { readerWaits = true }
                }
            }
            waiters = left
            return satisfied
        }
    }

    private let shared = Locked(State())

    /// Creates an empty recorder.
    public init() {}

    /// Creates a recorder that records every message of a source, as long as the recorder lives.
    ///
    /// Its listener is nonisolated, so a message has been recorded when `post` returns. A state's current value is
    /// recorded first.
    public convenience init(of source: some Listenable<Element>) {
        self.init()
        source.listen(self) { me, message in me.record(message) }
    }

    /// The recorded elements, in order.
    public var all: [Element] { shared.withLock { $0.elements } }

    /// The number of recorded elements.
    public var count: Int { shared.withLock { $0.elements.count } }

    /// Returns the recorded elements, in order, and empties the recorder.
    public func takeAll() -> [Element] {
        shared.withLock { shared in
            defer {
                shared.elements = []
                shared.emptied += 1
                shared.read = 0
            }
            return shared.elements
        }
    }

    /// Records an element.
    public func record(_ element: Element) {
        let satisfied = shared.withLock { shared in
            shared.elements.append(element)
            return shared.takeSatisfied()
        }
        for (continuation, outcome) in satisfied { continuation.resume(returning: outcome) }
    }

    // MARK: Waiting, by a need

    /// The elements, with a mark of the current state.
    var present: (elements: [Element], mark: Mark) { shared.withLock { ($0.elements, $0.mark) } }

    /// The elements recorded since a mark, or all elements if the recorder was emptied since, with a new mark.
    func changes(since mark: Mark) -> (further: [Element], mark: Mark) {
        shared.withLock { shared in
            let further = shared.elements[(shared.emptied == mark.emptied ? mark.count : 0)...]
            return (Array(further), shared.mark)
        }
    }

    /// Waits until a need is satisfied, the task is cancelled or the deadline has passed.
    func wait(for need: Need, until deadline: ContinuousClock.Instant? = nil) async -> Outcome {
        let number = shared.withLock { shared in
            shared.lastNumber += 1
            return shared.lastNumber
        }
        // The timer starts before the wait, and may fire before the wait has begun, so the wait also checks the clock.
        let timer = deadline.map { Timeout(after: $0 - .now) { self.end(number) } }
        defer { extendLifetime(timer) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = shared.withLock { shared -> Outcome? in
                    if !(need.isNext && shared.hasReaders), let enough = shared.satisfy(need) {
                        return shared.outcome(enough, of: need)
                    }
                    if Task.isCancelled || deadline.map({ $0 <= .now }) == true { return shared.outcome(nil, of: need) }
                    shared.waiters.append(Waiter(number: number, need: need, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            end(number)
        }
    }

    /// Ends a wait that is not satisfied, if it is still waiting.
    private func end(_ number: Int) {
        let ended = shared.withLock { shared -> [(CheckedContinuation<Outcome, Never>, Outcome)] in
            guard let index = shared.waiters.firstIndex(where: { $0.number == number }) else { return [] }
            let waiter = shared.waiters.remove(at: index)
            // The ended wait may have been queued before one whose need is already satisfied.
            return [(waiter.continuation, shared.outcome(nil, of: waiter.need))] + shared.takeSatisfied()
        }
        for (continuation, outcome) in ended { continuation.resume(returning: outcome) }
    }
}

extension Recorder.Need {
    fileprivate var isNext: Bool { if case .next = self { true } else { false } }
}
