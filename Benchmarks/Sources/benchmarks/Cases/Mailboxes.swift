import Channels
import Dispatch

/// Messages to listeners on an actor, on a queue and in a sequence, in order, which is checked; and to one whose
/// buffer is full. Every operation is one message to each.
enum Mailboxes {
    static let listeners = [1, 4, 16]

    static var cases: [Case] {
        Case.waiting("mailbox-actor", listeners, messages: Streams.burst, actor)
            + Case.waiting("mailbox-main", listeners, messages: Streams.burst, main)
            + Case.waiting("mailbox-queue", listeners, messages: Streams.burst, queue)
            + Case.waiting("mailbox-sequence", listeners, messages: Streams.burst, sequence)
            + Case.plain("mailbox-drop", [1], drop)
            + Case.plain("mailbox-idle", [1, 16], idle)
    }

    /// Posts to a full buffer, each of which drops the message that has waited longest: the queue stands still.
    private static func drop(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let queue = DispatchQueue(label: "benchmarks.drop")
        let tokens = counters(count).map { counter in
            channel.listen(on: queue, buffering: .newest(16)) { counter.add($0) }
        }
        return { operations in
            queue.suspend()
            for number in 0..<operations { channel.post(number) }
            queue.resume()
            queue.sync {}
            withExtendedLifetime(tokens) {}
        }
    }

    /// Posts to owners on one queue that has heard all before: each post starts a drain.
    private static func idle(_ count: Int) -> (Int) -> Void {
        let channel = Channel<Int>()
        let queue = DispatchQueue(label: "benchmarks.idle")
        let owners = counters(count)
        for owner in owners { channel.listen(owner, on: queue) { me, number in me.add(number) } }
        return { operations in
            for number in 0..<operations {
                queue.suspend()
                channel.post(number)
                queue.resume()
                queue.sync {}
            }
            withExtendedLifetime(owners) {}
        }
    }

    @MainActor
    private static func actor(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let channel = Channel<Int>()
        let owners = (0..<count).map { _ in Receiver(arrivals) }
        for owner in owners { channel.listen(owner) { me, number in me.take(number) } }
        return { operations in
            postBurst(on: channel, operations)
            await arrivals.wait(for: count)
            withExtendedLifetime(owners) {}
        }
    }

    /// Posted by another thread.
    @MainActor
    private static func main(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let channel = Channel<Int>()
        let owners = (0..<count).map { _ in MainReceiver(arrivals) }
        for owner in owners { channel.listen(owner) { me, number in me.take(number) } }
        return { operations in
            Task.detached { postBurst(on: channel, operations) }
            await arrivals.wait(for: count)
            withExtendedLifetime(owners) {}
        }
    }

    @MainActor
    private static func queue(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let channel = Channel<Int>()
        let owners = (0..<count).map { _ in OrderCheck(arrivals) }
        for (number, owner) in owners.enumerated() {
            channel.listen(owner, on: DispatchQueue(label: "benchmarks.\(number)")) { me, number in me.take(number) }
        }
        return { operations in
            postBurst(on: channel, operations)
            await arrivals.wait(for: count)
            withExtendedLifetime(owners) {}
        }
    }

    @MainActor
    private static func sequence(_ count: Int) -> @MainActor (Int) async -> Void {
        let arrivals = Arrivals()
        let channel = Channel<Int>()
        for _ in 0..<count {
            let messages = channel.messages()
            let check = OrderCheck(arrivals)
            Task.detached { for await number in messages { check.take(number) } }
        }
        return { operations in
            postBurst(on: channel, operations)
            await arrivals.wait(for: count)
        }
    }

    nonisolated private static func postBurst(on channel: Channel<Int>, _ count: Int) {
        for number in 0..<count { channel.post(number) }
        channel.post(lastMessage)
    }
}

/// An owner that is an actor.
private actor Receiver {
    private let check: OrderCheck

    init(_ arrivals: Arrivals) {
        check = OrderCheck(arrivals)
    }

    func take(_ number: Int) { check.take(number) }
}

/// An owner on the main actor.
@MainActor
private final class MainReceiver {
    private let check: OrderCheck

    init(_ arrivals: Arrivals) {
        check = OrderCheck(arrivals)
    }

    func take(_ number: Int) { check.take(number) }
}
