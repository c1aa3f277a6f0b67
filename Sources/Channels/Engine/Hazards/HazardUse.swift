internal import Synchronization

/// A use of a ``HazardDomain`` to wait for: a slot, and its sequence number when the use was found.
///
/// A use of a shard of names may pass to the channel found in it, but never the other way round.
struct HazardUse: Sendable {
    private let slot: SlotReference
    private let sequence: UInt

    private init(_ slot: SlotReference) {
        self.slot = slot
        sequence = slot.pointee.sequence.load(ordering: .acquiring)
    }

    /// Returns the uses of accepted addresses that are in progress on any thread of the given groups.
    static func uses(by groups: UInt64, of isUsed: (UInt) -> Bool) -> [HazardUse] {
        var found: [HazardUse] = []
        visit(groups, isUsed) { slot in
            found.append(HazardUse(slot))
            return true
        }
        return found
    }

    static func hasUses(by groups: UInt64, of isUsed: (UInt) -> Bool) -> Bool {
        var isFound = false
        visit(groups, isUsed) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Visits the slots of accepted uses in progress, as long as the body returns true.
    ///
    /// - Complexity: O(*n*) in the number of threads in the groups, and their slots in use.
    private static func visit(_ groups: UInt64, _ isUsed: (UInt) -> Bool, _ body: (SlotReference) -> Bool) {
        ThreadRecords.all.scan(groups) { record in
            let used = record.pointee.used.load(ordering: .sequentiallyConsistent)
            for index in 0..<used {
                let slot = record.pointee.slot(index)
                guard isUsed(slot.pointee.address.load(ordering: .sequentiallyConsistent)) else { continue }
                guard body(slot) else { return false }
            }
            return true
        }
    }

    /// Returns whether this use has ended. A use whose slot has passed to another address that the body accepts has not
    /// ended.
    func hasEnded(_ isUsed: (UInt) -> Bool) -> Bool {
        slot.pointee.sequence.load(ordering: .acquiring) != sequence
            || !isUsed(slot.pointee.address.load(ordering: .sequentiallyConsistent))
    }

    var isOnCallingThread: Bool { ThreadReference.current.pointee.has(slot) }
}
