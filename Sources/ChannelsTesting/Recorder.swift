public import Channels

/// Records elements, from any thread, and lets a test wait for them without sleeping.
///
/// ```swift
/// let recorder = Recorder(of: till.sold)
/// till.sold.post(Sale(total: 12))
/// #expect(recorder.all == [Sale(total: 12)])
/// ```
///
/// A listener of your own records what it is to say: `{ sale in recorder.record(sale.total) }`. Where it runs
/// later, on an actor say, ``first(_:)`` and ``wait(until:)`` wait for it.
public final class Recorder<Element: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let isDone: @Sendable ([Element]) -> Bool
        let continuation: CheckedContinuation<[Element], Never>
    }

    /// Guarded by its lock; continuations are resumed without it.
    private struct State {
        var elements: [Element] = []
        var lastNumber = 0
        var waiters: [Waiter] = []
    }

    private let shared = Locked(State())

    /// Creates an empty recorder.
    public init() {}

    /// Creates a recorder that records every message of a source, as long as it lives.
    ///
    /// It listens without isolation: what is posted is recorded when `post` returns.
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
            defer { shared.elements = [] }
            return shared.elements
        }
    }

    /// Records an element.
    public func record(_ element: Element) {
        let done = shared.withLock { shared in
            shared.elements.append(element)
            let done = shared.waiters.filter { $0.isDone(shared.elements) }
            shared.waiters.removeAll { waiter in done.contains { $0.number == waiter.number } }
            return done.map { ($0.continuation, shared.elements) }
        }
        for (continuation, elements) in done { continuation.resume(returning: elements) }
    }

    /// Waits until this many elements have been recorded, or the task is cancelled.
    ///
    /// - Returns: The first `count` elements, or fewer if the task was cancelled.
    public func first(_ count: Int) async -> [Element] {
        Array(await wait(count: count).prefix(count))
    }

    /// Waits until at least this many elements have been recorded, or the task is cancelled.
    ///
    /// - Returns: All elements recorded by then.
    @discardableResult
    public func wait(count: Int) async -> [Element] {
        await wait { $0.count >= count }
    }

    /// Waits until the recorded elements satisfy a condition, or the task is cancelled.
    ///
    /// - Parameter isEnough: The condition. It is called now and, on the recording thread, for every further
    ///   element, with the recorder's lock held: it must not use this recorder, nor wait for another one.
    /// - Returns: All elements recorded by then.
    @discardableResult
    public func wait(until isEnough: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        let number = shared.withLock { shared in
            shared.lastNumber += 1
            return shared.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let elements = shared.withLock { shared -> [Element]? in
                    guard !isEnough(shared.elements), !Task.isCancelled else { return shared.elements }
                    shared.waiters.append(Waiter(number: number, isDone: isEnough, continuation: continuation))
                    return nil
                }
                if let elements { continuation.resume(returning: elements) }
            }
        } onCancel: {
            let waiting = shared.withLock { shared -> (CheckedContinuation<[Element], Never>, [Element])? in
                guard let index = shared.waiters.firstIndex(where: { $0.number == number }) else { return nil }
                return (shared.waiters.remove(at: index).continuation, shared.elements)
            }
            if let (continuation, elements) = waiting { continuation.resume(returning: elements) }
        }
    }
}
