import AsyncAlgorithms
import Dispatch

/// Libraries that carry messages to other tasks or queues. Every operation is one message to each of the
/// listeners.
enum Streams {
    static let listeners = [1, 4, 16]
    /// The messages of a round, to all listeners together.
    static let burst = 10_000

    static var cases: [Case] {
        Case.waiting("dispatch-async", listeners + [64], messages: burst, dispatchAsync)
            + Case.waiting("async-stream", listeners + [64], messages: burst, asyncStream)
            + Case.waiting("async-channel", listeners, messages: 200, asyncChannel)
            + Case.waiting("share", listeners, messages: 800, share)
    }

    /// A serial queue for each listener, and a block for each message.
    @MainActor
    private static func dispatchAsync(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let queues = (0..<count).map { DispatchQueue(label: "benchmarks.\($0)") }
        let checks = queues.map { _ in OrderCheck(arrivals) }
        return { operations in
            let post = { (number: Int) in
                for (queue, check) in zip(queues, checks) { queue.async { check.take(number) } }
            }
            for number in 0..<operations { post(number) }
            post(lastMessage)
            await arrivals.wait(for: count)
        }
    }

    /// A stream for each listener.
    @MainActor
    private static func asyncStream(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let continuations = (0..<count).map { _ in
            let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
            let check = OrderCheck(arrivals)
            Task.detached { for await number in stream { check.take(number) } }
            return continuation
        }
        return { operations in
            let post = { (number: Int) in
                for continuation in continuations { continuation.yield(number) }
            }
            for number in 0..<operations { post(number) }
            post(lastMessage)
            await arrivals.wait(for: count)
        }
    }

    /// A channel for each listener; each message waits until it is taken.
    @MainActor
    private static func asyncChannel(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let channels = (0..<count).map { _ in
            let channel = AsyncChannel<Int>()
            let check = OrderCheck(arrivals)
            Task.detached { for await number in channel { check.take(number) } }
            return channel
        }
        return { operations in
            for number in 0..<operations {
                for channel in channels { await channel.send(number) }
            }
            for channel in channels { await channel.send(lastMessage) }
            await arrivals.wait(for: count)
        }
    }

    /// One stream that the listeners share.
    @MainActor
    private static func share(_ count: Int) async -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let shared = stream.share(bufferingPolicy: .unbounded)
        for _ in 0..<count {
            // Made here, so that each takes part from the first message on.
            let iterator = Handed(shared.makeAsyncIterator())
            let check = OrderCheck(arrivals)
            Task.detached {
                var iterator = iterator.value
                while let number = await iterator.next(isolation: nil) { check.take(number) }
            }
        }
        return { operations in
            for number in 0..<operations { continuation.yield(number) }
            continuation.yield(lastMessage)
            await arrivals.wait(for: count)
        }
    }
}

/// Hands a value over to the one task that uses it from then on.
private struct Handed<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
