internal import Synchronization

/// A use to wait for: a slot, and the slot's sequence number at that time.
///
/// What is used is a list, by a post that reads it; or a shard of names, and then the channel found in it, by a post or
/// look-up by name.
struct HazardUse: Sendable {
    private let slot: SlotReference
    private let sequence: UInt

    private init(_ slot: SlotReference) {
        self.slot = slot
        sequence = slot.pointee.sequence.load(ordering: .acquiring)
    }

    /// Returns the uses of an address, or of another one, in progress on any thread of some groups.
    @inline(never)
    static func uses(of address: UInt, or other: UInt? = nil, by groups: UInt64) -> [HazardUse] {
        var found: [HazardUse] = []
        visit(address, or: other, by: groups) { slot in
            found.append(HazardUse(slot))
            return true
        }
        return found
    }

    static func hasUses(of address: UInt, by groups: UInt64) -> Bool {
        var isFound = false
        visit(address, or: nil, by: groups) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Visits the slots of uses in progress, as long as the body returns true.
    ///
    /// - Complexity: O(*n*) in the number of threads in the groups, and their slots in use.
    @inline(__always)
    private static func visit(_ address: UInt, or other: UInt?, by groups: UInt64, _ body: (SlotReference) -> Bool) {
        ThreadRecords.all.scan(groups) { record in
            let used = record.pointee.used.load(ordering: .sequentiallyConsistent)
            for index in 0..<used {
                let slot = record.pointee.slot(index)
                let announced = slot.pointee.address.load(ordering: .sequentiallyConsistent)
                guard announced == address || announced == other else { continue }
                guard body(slot) else { return false }
            }
            return true
        }
    }

    /// Returns whether this use has ended, and has not become a use of the other address.
    func hasEnded(_ address: UInt, or other: UInt? = nil) -> Bool {
        // One load is enough: a use of a shard may become one of a channel, but not the other way round.
        let announced = slot.pointee.address.load(ordering: .sequentiallyConsistent)
        return announced != address && announced != other
            || slot.pointee.sequence.load(ordering: .acquiring) != sequence
    }

    var isOnCallingThread: Bool { ThreadReference.current.pointee.has(slot) }
}
