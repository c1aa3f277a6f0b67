internal import Synchronization

/// What counting and tracing the channels of a switchboard may cost, for a tool that must not slow them.
///
/// Each channel may be counted, and traced, for a share of the time. One that has used up its share is not counted
/// until the next ``renew()``: its posts take the way that costs nothing. So a channel that is not busy is counted
/// exactly, and of a busy one there are slices, from which the rest is extrapolated.
///
/// `waiting` is guarded by its mutex; the rest is atomic.
package final class MeteringAllowance: Sendable {
    /// Parts of a million of the time, for each channel.
    private let countingShare: Atomic<Int>
    private let tracingShare: Atomic<Int>
    /// What has used up its share, in that order; nil when nothing is renewed any more.
    private let waiting = Locked<Queue<any Rationed>?>(Queue())

    /// So many are renewed at once: the rest has more to spend when its turn comes.
    private static let mostAtOnce = 1_000
    /// Who has not posted for long has this much time to spend at once, in nanoseconds, and so has who is new.
    private static let longest = 500_000_000
    static let first = 50_000_000

    /// Nanoseconds that it costs to count a post, and the calls of its listeners: a high guess.
    package static func costOfCounting(listeners: Int) -> Int { 22 + 4 * listeners }

    /// The same for tracing it, besides what is measured: making the text of the message.
    package static func costOfTracing(listeners: Int) -> Int { 500 + 200 * listeners }

    /// - Parameters:
    ///   - counting: The share of the time that counting one channel may take, from 0 to 1.
    ///   - tracing: The same for tracing it.
    package init(counting: Double, tracing: Double) {
        countingShare = Atomic(Self.millionths(counting))
        tracingShare = Atomic(Self.millionths(tracing))
    }

    /// Changes the shares, from the next renewal on.
    package func set(counting: Double, tracing: Double) {
        countingShare.store(Self.millionths(counting), ordering: .relaxed)
        tracingShare.store(Self.millionths(tracing), ordering: .relaxed)
    }

    /// Goes on counting what has used up its share. To be called some ten times a second.
    package func renew() {
        var due: [any Rationed] = []
        waiting.withLock { waiting in
            while due.count < Self.mostAtOnce, let next = waiting?.popFirst() { due.append(next) }
        }
        for each in due { each.renew(self, goesOn: true) }
    }

    /// Nothing is renewed any more: lets go of what waits for it.
    package func end() {
        // Released without the lock.
        let waiting = waiting.withLock { $0.take() }
        _ = consume waiting
    }

    /// Called by what has used up its share, and is not in the queue.
    func enqueue(_ rationed: any Rationed) { waiting.withLock { $0?.append(rationed) } }

    /// Nanoseconds of counting, and of tracing, that are due after a time.
    func due(after nanoseconds: Int) -> (counting: Int, tracing: Int) {
        let time = min(nanoseconds, Self.longest)
        return (
            time / 1_000 * countingShare.load(ordering: .relaxed) / 1_000,
            time / 1_000 * tracingShare.load(ordering: .relaxed) / 1_000
        )
    }

    private static func millionths(_ share: Double) -> Int { Int((min(max(share, 0), 1) * 1_000_000).rounded()) }
}

extension MeteringAllowance: Hashable {
    package static func == (left: MeteringAllowance, right: MeteringAllowance) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What is counted within an allowance.
protocol Rationed: AnyObject, Sendable {
    /// It may be counted for as much as is due since the last time, if this is still its allowance.
    ///
    /// - Parameter goesOn: Whether counting goes on if it has stopped. It has left the queue then.
    func renew(_ allowance: MeteringAllowance, goesOn: Bool)
}
