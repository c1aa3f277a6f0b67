internal import Dispatch

/// What to do, once the lock is released, after a message was put into a mailbox.
struct Arrival {
    /// Start the drain or a reader.
    var starts = false
    /// Report that too many messages wait; see ``Backlog``.
    var isBacklog = false

    var isEmpty: Bool { !starts && !isBacklog }
}

/// The number of waiting messages above which a fault is reported. It doubles with each report, and is reset when
/// nothing waits. Guarded by the lock of its owner.
struct Backlog {
    private var limit = Self.first
    private static var first: Int { 1 << 20 }

    @inline(__always)
    mutating func note(_ count: Int) -> Arrival { count > limit ? raise() : Arrival() }

    private mutating func raise() -> Arrival {
        limit *= 2
        return Arrival(isBacklog: true)
    }

    mutating func reset() { limit = Self.first }
}

extension ListenerEntry {
    /// Starts a job that checks whether the owner is alive. Called under the lock, where the weak reference must not be
    /// loaded, because releasing the owner again may run its deinit.
    func lookForOwner() {
        guard hasOwner else { return }
        DispatchQueue.global().async { if self.isOrphan { self.list?.cancel(self) } }
    }

    func reportBacklog(_ count: Int) {
        guard let list else { return }
        list.faults.report(.laneBacklog, list: list, listener: self, detail: .text("\(count) messages wait"))
    }
}
