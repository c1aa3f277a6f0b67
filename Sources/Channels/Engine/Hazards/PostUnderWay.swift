internal import Synchronization

/// A use of something shared that is waited for, most often a post of a list: a slot, and its sequence number
/// then.
struct PostUnderWay: Hashable, Sendable {
    private let slot: SlotReference
    private let sequence: UInt

    private init(_ slot: SlotReference) {
        self.slot = slot
        sequence = slot.pointee.sequence.load(ordering: .acquiring)
    }

    // MARK: Posts

    /// The posts of the list at an address that are under way on any thread of some groups.
    @inline(never)
    static func posts(on list: UInt, by groups: UInt64) -> [PostUnderWay] {
        var found: [PostUnderWay] = []
        forEachPost(on: list, by: groups) { slot in
            found.append(PostUnderWay(slot))
            return true
        }
        return found
    }

    /// Whether there are any.
    static func hasPosts(on list: UInt, by groups: UInt64) -> Bool {
        var isFound = false
        forEachPost(on: list, by: groups) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Visits the slots of a list's posts under way on any thread, as long as the body returns true.
    ///
    /// - Complexity: O(*n*) in the number of threads that have posted on the list, and of those in their
    ///   groups.
    @inline(__always)
    private static func forEachPost(on list: UInt, by groups: UInt64, _ body: (SlotReference) -> Bool) {
        ThreadRecords.all.scan(groups) { record in
            let used = record.pointee.used.load(ordering: .sequentiallyConsistent)
            for index in 0..<used {
                let slot = record.pointee.slot(index)
                guard slot.pointee.list.load(ordering: .sequentiallyConsistent) == list else { continue }
                guard body(slot) else { return false }
            }
            return true
        }
    }

    /// Whether this very post of the list has ended.
    func hasEnded(on list: UInt) -> Bool {
        slot.pointee.list.load(ordering: .sequentiallyConsistent) != list
            || slot.pointee.sequence.load(ordering: .acquiring) != sequence
    }

    /// Whether it is a post of the calling thread.
    var isOnCallingThread: Bool { ThreadReference.current.pointee.has(slot) }

    // MARK: Names

    /// The uses of a shard, or of a keeper found in it, that are under way on any thread of some groups.
    static func uses(of shard: UInt, or keeper: UInt, by groups: UInt64) -> [PostUnderWay] {
        var found: [PostUnderWay] = []
        ThreadRecords.all.scan(groups) { record in
            let used = record.pointee.usedForNames.load(ordering: .sequentiallyConsistent)
            for index in 0..<used {
                let slot = record.pointee.nameSlot(index)
                let address = slot.pointee.list.load(ordering: .sequentiallyConsistent)
                guard address != 0, address == shard || address == keeper else { continue }
                found.append(PostUnderWay(slot))
            }
            return true
        }
        return found
    }

    /// Whether this very use of the shard has ended, and has not become one of the keeper.
    func hasEnded(on shard: UInt, or keeper: UInt) -> Bool {
        // One load: a use of the shard may become one of the keeper, and not the other way round.
        let address = slot.pointee.list.load(ordering: .sequentiallyConsistent)
        return address != shard && address != keeper || slot.pointee.sequence.load(ordering: .acquiring) != sequence
    }

    // MARK: Comparing

    static func == (left: Self, right: Self) -> Bool {
        left.slot.address == right.slot.address && left.sequence == right.sequence
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(slot.address)
        hasher.combine(sequence)
    }
}
