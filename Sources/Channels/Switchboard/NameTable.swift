internal import Synchronization

/// The slots of a shard by name, read without the shard's lock.
///
/// Open addressing with linear probing and deletion without tombstones (D. E. Knuth, The Art of Computer
/// Programming 3, section 6.4, algorithms L and R). A dictionary would hash the hash again and retain what it
/// finds: half the time of a lookup.
///
/// The cells are atomic and changed under the shard's lock only. Who reads them has announced that it reads
/// the shard (`RegistryShard+Read`), so that neither a table nor a slot is freed meanwhile; when the table is
/// full, the shard replaces it. A name that is found was in the table during the search. One that is not
/// found may have been moved past the reader: then `moves` says so.
@safe
final class NameTable: @unchecked Sendable {  // see above
    private struct Cell: ~Copyable {
        let hash = Atomic<UInt64>(0)
        /// The address of the slot, retained by the table; 0 if the cell is free.
        let slot = Atomic<UInt>(0)
    }

    private static let smallest = 16

    // Allocated in `init`, and freed in `deinit`.
    private let cells: UnsafeMutablePointer<Cell>
    /// One less than the number of cells, a power of two.
    private let mask: Int
    /// Guarded by the shard's lock.
    @safe @exclusivity(unchecked) private var count = 0
    /// Odd while cells are moved; raised by each move.
    private let moves = Atomic<UInt>(0)

    private init(capacity: Int) {
        unsafe cells = .allocate(capacity: capacity)
        for index in 0..<capacity { unsafe (cells + index).initialize(to: Cell()) }
        mask = capacity - 1
    }

    convenience init() { self.init(capacity: Self.smallest) }

    deinit {
        for index in 0...mask {
            unsafe Unretained<RegistrySlot>(address: cells[index].slot.load(ordering: .relaxed))?.release()
        }
        unsafe cells.deinitialize(count: mask + 1)
        unsafe cells.deallocate()
    }

    // MARK: Reading

    enum Found {
        case slot(Unretained<RegistrySlot>)
        case nothing
        /// The search met cells being moved: to be repeated under the lock.
        case unknown
    }

    /// The slot of a name. Needs no lock, see the type's comment.
    @inline(__always)
    func find(_ key: NameKey) -> Found {
        let before = moves.load(ordering: .acquiring)
        var index = home(key.hash)
        // While cells are moved there may seem to be no free one.
        for _ in 0...mask {
            let address = unsafe cells[index].slot.load(ordering: .sequentiallyConsistent)
            guard let slot = Unretained<RegistrySlot>(address: address) else {
                // Loads are acquiring, so this one is the last.
                return before & 1 == 0 && moves.load(ordering: .acquiring) == before ? .nothing : .unknown
            }
            if unsafe cells[index].hash.load(ordering: .acquiring) == key.hash, slot.borrow({ $0.key == key }) {
                return .slot(slot)
            }
            index = (index + 1) & mask
        }
        return .unknown
    }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

    // MARK: Changing, under the lock

    /// Whether another slot needs a larger table. At most three quarters are in use, so that a probe is
    /// short.
    var isFull: Bool { (count + 1) * 4 > (mask + 1) * 3 }

    /// Whether a smaller table would do.
    var isSparse: Bool { count * 8 < mask + 1 && mask + 1 > Self.smallest }

    /// A table of twice the size, or half of it, with the same slots.
    func copy(isLarger: Bool) -> NameTable {
        let copy = NameTable(capacity: isLarger ? (mask + 1) * 2 : (mask + 1) / 2)
        for index in 0...mask {
            let address = unsafe cells[index].slot.load(ordering: .relaxed)
            guard let slot = Unretained<RegistrySlot>(address: address) else { continue }
            slot.retain()
            copy.place(slot, unsafe cells[index].hash.load(ordering: .relaxed))
        }
        copy.count = count
        return copy
    }

    /// Inserts a slot. There must be none of its name, and room.
    func insert(_ slot: RegistrySlot) {
        // Released by the caller of `remove`, or in `deinit`.
        place(.retaining(slot), slot.key.hash)
        count += 1
    }

    /// Removes a slot, if it is in the table. The caller takes over the table's reference.
    func remove(_ slot: RegistrySlot) -> Unretained<RegistrySlot>? {
        var index = home(slot.key.hash)
        while true {
            let address = unsafe cells[index].slot.load(ordering: .relaxed)
            guard let found = Unretained<RegistrySlot>(address: address) else { return nil }
            if found == Unretained(slot) {
                closeGap(at: index)
                count -= 1
                return found
            }
            index = (index + 1) & mask
        }
    }

    /// Moves later cells into a gap at which their probes would end too early.
    private func closeGap(at freed: Int) {
        let moved = moves.load(ordering: .relaxed)
        moves.store(moved &+ 1, ordering: .relaxed)
        defer { moves.store(moved &+ 2, ordering: .releasing) }
        var gap = freed
        var index = (gap + 1) & mask
        while true {
            let slot = unsafe cells[index].slot.load(ordering: .relaxed)
            guard slot != 0 else { break }
            let hash = unsafe cells[index].hash.load(ordering: .relaxed)
            // The distances of the cell from the start of its probe, and of the gap from the cell, modulo the
            // size.
            if (index - home(hash)) & mask >= (index - gap) & mask {
                write(slot, hash, at: gap)
                gap = index
            }
            index = (index + 1) & mask
        }
        write(0, 0, at: gap)
    }

    private func place(_ slot: Unretained<RegistrySlot>, _ hash: UInt64) {
        var index = home(hash)
        while unsafe cells[index].slot.load(ordering: .relaxed) != 0 { index = (index + 1) & mask }
        write(slot.address, hash, at: index)
    }

    /// A reader that finds the slot with the hash of another compares neither, or compares the keys.
    private func write(_ slot: UInt, _ hash: UInt64, at index: Int) {
        unsafe cells[index].hash.store(hash, ordering: .releasing)
        unsafe cells[index].slot.store(slot, ordering: .sequentiallyConsistent)
    }
}
