/// The slots of a shard by name.
///
/// Open addressing with linear probing and deletion without tombstones (D. E. Knuth, The Art of Computer Programming 3, section 6.4, algorithms
/// L and R). A dictionary would hash the hash of the name again and retain what it finds: half the time of a lookup.
///
/// Not synchronised: the shard's lock guards it.
struct NameTable: ~Copyable {
    private struct Cell {
        var hash: UInt64
        /// Counted by the table; nil where the cell is free.
        var slot: Unmanaged<RegistrySlot>?
    }

    private static let smallest = 16

    private var cells: UnsafeMutablePointer<Cell>
    /// One less than how many cells there are, a power of two.
    private var mask: Int
    private var count = 0

    init() {
        cells = Self.freeCells(Self.smallest)
        mask = Self.smallest - 1
    }

    deinit {
        for index in 0...mask { cells[index].slot?.release() }
        cells.deallocate()
    }

    /// The slot of a name, which the table holds.
    @inline(__always)
    func find(_ key: NameKey) -> Unmanaged<RegistrySlot>? {
        var index = home(key.hash)
        while let slot = cells[index].slot {
            if cells[index].hash == key.hash, slot._withUnsafeGuaranteedRef({ $0.key == key }) { return slot }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Puts a slot in. There must be none of its name.
    mutating func insert(_ slot: RegistrySlot) {
        // At most three quarters are taken, so that a probe ends soon.
        if (count + 1) * 4 > (mask + 1) * 3 { resize(to: (mask + 1) * 2) }
        // Given back in `remove` or `deinit`.
        place(Cell(hash: slot.key.hash, slot: .passRetained(slot)))
        count += 1
    }

    /// Takes a slot out, if it is in.
    mutating func remove(_ slot: RegistrySlot) {
        var index = home(slot.key.hash)
        // Compared only.
        while let found = cells[index].slot, found.toOpaque() != Unmanaged.passUnretained(slot).toOpaque() {
            index = (index + 1) & mask
        }
        guard let found = cells[index].slot else { return }
        closeGap(at: index)
        count -= 1
        found.release()  // the caller holds it
        if count * 8 < mask + 1, mask + 1 > Self.smallest { resize(to: (mask + 1) / 2) }
    }

    /// Moves what stands behind a gap into it, where a probe would else end too early.
    private mutating func closeGap(at freed: Int) {
        var gap = freed
        var index = (gap + 1) & mask
        while cells[index].slot != nil {
            // How far a cell is from where its probe begins, and how far the gap is from the cell, both going round.
            if (index - home(cells[index].hash)) & mask >= (index - gap) & mask {
                cells[gap] = cells[index]
                gap = index
            }
            index = (index + 1) & mask
        }
        cells[gap].slot = nil
    }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & mask
    }

    private mutating func place(_ cell: Cell) {
        var index = home(cell.hash)
        while cells[index].slot != nil { index = (index + 1) & mask }
        cells[index] = cell
    }

    private mutating func resize(to capacity: Int) {
        let old = cells
        let oldMask = mask
        cells = Self.freeCells(capacity)
        mask = capacity - 1
        for index in 0...oldMask where old[index].slot != nil { place(old[index]) }
        old.deallocate()
    }

    private static func freeCells(_ capacity: Int) -> UnsafeMutablePointer<Cell> {
        let cells = UnsafeMutablePointer<Cell>.allocate(capacity: capacity)
        cells.initialize(repeating: Cell(hash: 0, slot: nil), count: capacity)
        return cells
    }
}
