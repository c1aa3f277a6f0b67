internal import Synchronization

/// The slots of a shard by name, read without the shard's lock.
///
/// Open addressing with linear probing (D. E. Knuth, The Art of Computer Programming 3, section 6.4, algorithm L). A
/// removed slot leaves a mark until the table is copied, so a name never moves within a table. A dictionary would hash
/// the hash again and retain what it finds, which takes half the time of a lookup.
///
/// The cells are atomic and changed under the shard's lock only. A reader has announced that it reads the
/// shard (`RegistryShard+Read`), so neither a table nor a slot is freed meanwhile.
@safe
final class NameTable: @unchecked Sendable {  // see above
    private struct Cell: ~Copyable {
        let hash = Atomic<UInt64>(0)
        /// The address of the slot, retained by the table; 0 if the cell is free, ``left`` if its slot was removed.
        let slot = Atomic<UInt>(0)
    }

    /// Marks a cell whose slot was removed, past which a search continues. No slot has this address.
    private static let left: UInt = 1

    private static let smallest = 16

    // Allocated in `init`, and freed in `deinit`.
    private let cells: UnsafeMutablePointer<Cell>
    /// One less than the number of cells, a power of two.
    private let mask: Int
    /// How many slots there are; `used` is how many cells are not free. Both are guarded by the shard's lock.
    private var count = 0
    private var used = 0

    private init(capacity: Int) {
        unsafe cells = .allocate(capacity: capacity)
        for index in 0..<capacity { unsafe (cells + index).initialize(to: Cell()) }
        mask = capacity - 1
    }

    convenience init() { self.init(capacity: Self.smallest) }

    deinit {
        forEachSlot { slot, _ in slot.release() }
        unsafe cells.deinitialize(count: mask + 1)
        unsafe cells.deallocate()
    }

    /// The slot of a name. Needs no lock: see the type's comment.
    @inline(__always)
    func find(_ key: NameKey) -> Unretained<RegistrySlot>? {
        var index = Int(truncatingIfNeeded: key.hash) & mask
        // Ends, because at least a quarter of the cells is free.
        while true {
            let address = unsafe cells[index].slot.load(ordering: .sequentiallyConsistent)
            guard address != 0 else { return nil }
            if unsafe cells[index].hash.load(ordering: .acquiring) == key.hash, address != Self.left,
                let slot = Unretained<RegistrySlot>(address: address), slot.borrow({ $0.key == key })
            {
                return slot
            }
            index = (index + 1) & mask
        }
    }

    // MARK: Under the lock

    /// Whether the table must be copied before another slot is inserted. At least a quarter of the cells stays free, so
    /// that searches are short.
    var isFull: Bool { (used + 1) * 4 > (mask + 1) * 3 }

    var isSparse: Bool { count * 8 < mask + 1 && mask + 1 > Self.smallest }

    /// Returns a table with the same slots, of whose cells at most half are in use.
    func copy() -> NameTable {
        var capacity = Self.smallest
        while capacity < 2 * (count + 1) { capacity *= 2 }
        let copy = NameTable(capacity: capacity)
        forEachSlot { slot, hash in
            slot.retain()
            copy.place(slot, hash)
        }
        return copy
    }

    /// Inserts a slot. There must be room, and no slot of the same name.
    func insert(_ slot: RegistrySlot) {
        // Released by the caller of `remove`, or in `deinit`.
        place(.retaining(slot), slot.key.hash)
    }

    /// Removes a slot, if it is in the table. The caller takes over the table's reference.
    func remove(_ slot: RegistrySlot) -> Unretained<RegistrySlot>? {
        var index = Int(truncatingIfNeeded: slot.key.hash) & mask
        while unsafe cells[index].slot.load(ordering: .relaxed) != Unretained(slot).address {
            guard unsafe cells[index].slot.load(ordering: .relaxed) != 0 else { return nil }
            index = (index + 1) & mask
        }
        // If the next cell is free, a search would end there anyway, so no mark is needed.
        let isLast = unsafe cells[(index + 1) & mask].slot.load(ordering: .relaxed) == 0
        unsafe cells[index].slot.store(isLast ? 0 : Self.left, ordering: .sequentiallyConsistent)
        count -= 1
        if isLast { used -= 1 }
        return Unretained(slot)
    }

    private func place(_ slot: Unretained<RegistrySlot>, _ hash: UInt64) {
        var index = Int(truncatingIfNeeded: hash) & mask
        while unsafe cells[index].slot.load(ordering: .relaxed) > Self.left { index = (index + 1) & mask }
        if unsafe cells[index].slot.load(ordering: .relaxed) == 0 { used += 1 }
        count += 1
        // A reader that finds a former slot with this hash compares the keys.
        unsafe cells[index].hash.store(hash, ordering: .releasing)
        unsafe cells[index].slot.store(slot.address, ordering: .sequentiallyConsistent)
    }

    private func forEachSlot(_ body: (Unretained<RegistrySlot>, _ hash: UInt64) -> Void) {
        for index in 0...mask {
            let address = unsafe cells[index].slot.load(ordering: .relaxed)
            guard address > Self.left, let slot = Unretained<RegistrySlot>(address: address) else { continue }
            body(slot, unsafe cells[index].hash.load(ordering: .relaxed))
        }
    }
}
