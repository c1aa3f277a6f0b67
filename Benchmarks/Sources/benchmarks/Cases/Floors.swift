import CCounting
import Synchronization

/// The hand-written loops that nothing with the same contract can be far below, and what people write by
/// hand.
enum Floors {
    static let listeners = [0, 1, 4, 16, 32, 64, 1_024]

    static var cases: [Case] {
        [Case(name: "control/0") { .plain(control) }]
            + Case.plain("strong-loop", listeners, strongLoop)
            + Case.plain("weak-loop", listeners, weakLoop)
            + Case.plain("by-hand", listeners, byHand)
    }

    /// Allocates once per operation, to show that allocations are counted.
    private static func control(_ operations: Int) {
        for number in 0..<operations {
            let block = UnsafeMutablePointer<Int>.allocate(capacity: 8)
            block.initialize(to: number)
            counting_consume(Int64(Int(bitPattern: block)))
            block.deallocate()
        }
    }

    private static func strongLoop(_ count: Int) -> (Int) -> Void {
        let list = ClosureList(counters(count).map { counter in { counter.add($0) } })
        return { operations in for number in 0..<operations { list.post(number) } }
    }

    private static func weakLoop(_ count: Int) -> (Int) -> Void {
        let owners = counters(count)
        let list = ClosureList(owners.map { owner in { [weak owner] number in owner?.add(number) } })
        return { operations in
            for number in 0..<operations { list.post(number) }
            withExtendedLifetime(owners) {}
        }
    }

    private static func byHand(_ count: Int) -> (Int) -> Void {
        let owners = counters(count)
        let event = EventByHand()
        for owner in owners { event.add { [weak owner] number in owner?.add(number) } }
        return { operations in
            for number in 0..<operations { event.post(number) }
            withExtendedLifetime(owners) {}
        }
    }
}

/// An array of closures, called one after the other.
private final class ClosureList {
    private let listeners: [(Int) -> Void]

    init(_ listeners: [(Int) -> Void]) { self.listeners = listeners }

    @inline(never)
    func post(_ number: Int) {
        for listener in listeners { listener(number) }
    }
}

/// What people write: an array behind a mutex, copied out before the calls.
private final class EventByHand: Sendable {
    private let listeners = Mutex<[@Sendable (Int) -> Void]>([])

    func add(_ listener: @escaping @Sendable (Int) -> Void) {
        listeners.withLock { $0.append(listener) }
    }

    @inline(never)
    func post(_ number: Int) {
        for listener in listeners.withLock({ $0 }) { listener(number) }
    }
}
