/// The slots of a shard by name.
///
/// Open addressing with linear probing and deletion without tombstones (D. E. Knuth, The Art of Computer
/// Programming 3, section 6.4, algorithms L and R). A dictionary would hash the hash again and retain what it
/// finds: half the time of a lookup.
///
/// Not synchronised: the shard's lock guards it.
struct NameTable: ~Copyable {
    private struct Cell {
        var hash: UInt64
        /// Retained by the table; nil if the cell is free.
        var slot: Unretained<RegistrySlot>?
    }

    private static let smallest = 16

    private var cells: [Cell]
    /// One less than the number of cells, a power of two.
    private var mask: Int
    private var count = 0

    init() {
        cells = Self.freeCells(Self.smallest)
        mask = Self.smallest - 1
    }

    deinit { for cell in cells { cell.slot?.release() } }

    /// The slot of a name, which the table holds.
    @inline(__always)
    func find(_ key: NameKey) -> Unretained<RegistrySlot>? {
        var index = home(key.hash)
        while let slot = cells[index].slot {
            if cells[index].hash == key.hash, slot.borrow({ $0.key == key }) { return slot }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Inserts a slot. There must be none of its name.
    mutating func insert(_ slot: RegistrySlot) {
        // At most three quarters are in use, so that a probe is short.
        if (count + 1) * 4 > (mask + 1) * 3 { resize(to: (mask + 1) * 2) }
        // Released in `remove` or `deinit`.
        place(Cell(hash: slot.key.hash, slot: .retaining(slot)))
        count += 1
    }

    /// Removes a slot, if it is in the table.
    mutating func remove(_ slot: RegistrySlot) {
        var index = home(slot.key.hash)
        while let found = cells[index].slot, found.address != Unretained(slot).address {
            index = (index + 1) & mask
        }
        guard let found = cells[index].slot else { return }
        closeGap(at: index)
        count -= 1
        found.release()  // the caller holds it
        if count * 8 < mask + 1, mask + 1 > Self.smallest { resize(to: (mask + 1) / 2) }
    }

    /// Moves later cells into a gap at which their probes would end too early.
    private mutating func closeGap(at freed: Int) {
        var gap = freed
        var index = (gap + 1) & mask
        while cells[index].slot != nil {
            // The distances of the cell from the start of its probe, and of the gap from the cell, modulo the
            // size.
            if (index - home(cells[index].hash)) & mask >= (index - gap) & mask {
                cells[gap] = cells[index]
                gap = index
            }
            index = (index + 1) & mask
        }
        cells[gap].slot = nil
    }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

    private mutating func place(_ cell: Cell) {
        var index = home(cell.hash)
        while cells[index].slot != nil { index = (index + 1) & mask }
        cells[index] = cell
    }

    private mutating func resize(to capacity: Int) {
        let old = cells
        cells = Self.freeCells(capacity)
        mask = capacity - 1
        for cell in old where cell.slot != nil { place(cell) }
    }

    private static func freeCells(_ capacity: Int) -> [Cell] {
        Array(repeating: Cell(hash: 0, slot: nil), count: capacity)
    }
}
