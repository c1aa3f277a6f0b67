internal import Dispatch

/// What to do, without the lock, after a message was put into a mailbox.
struct Arrival: OptionSet {
    let rawValue: UInt8
    /// The drain, or a reader, is to be started.
    static let starts = Arrival(rawValue: 1)
    /// Too many messages wait; see ``Backlog``.
    static let isBacklog = Arrival(rawValue: 2)
}

/// Above which number of waiting messages a fault is reported. It doubles each time, until nothing waits. Guarded by
/// the lock of its owner.
struct Backlog {
    private var limit = Self.first
    private static var first: Int { 1 << 20 }

    @inline(__always)
    mutating func note(_ count: Int) -> Arrival { count > limit ? raise() : [] }

    private mutating func raise() -> Arrival {
        limit *= 2
        return .isBacklog
    }

    mutating func reset() { limit = Self.first }
}

extension ListenerEntry {
    /// Has a job check the owner. Called under the lock, where a weak reference must not be loaded, because that may
    /// release the owner.
    func lookForOwner() {
        guard hasOwner else { return }
        DispatchQueue.global().async { if self.isOrphan { self.list?.cancel(self) } }
    }

    func reportBacklog(_ count: Int) {
        guard let list else { return }
        list.faults.report(.laneBacklog, list: list, listener: self, detail: .text("\(count) messages wait"))
    }
}
