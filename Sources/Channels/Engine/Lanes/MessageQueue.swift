/// A FIFO of messages of one layout, each with its envelope, in a chain of blocks.
///
/// Not synchronised: its owner's lock guards it. A slot holds a message and the reference of its envelope, or 0.
/// Blocks are used in turn and the last is reused, so that a queue that is emptied now and then allocates nothing, and
/// nothing is moved to a larger buffer: in a burst, that and page faults took a third of the time of enqueueing.
///
/// `@safe` because no pointer leaves it except as the address of a message: `count` messages are in the slots
/// from `first`, in the first block, up to `end`, in the last, and only those are read, moved or destroyed.
@safe
struct MessageQueue: ~Copyable {
    /// The first words of a block.
    @unsafe
    private struct Header {
        /// The next block; nil in the last.
        var next: UnsafeMutableRawPointer?
        let capacity: Int
    }

    private static let smallestBlock = 16
    private static let largestBlock = 256
    /// Each block has four times as many slots as the one before, up to this.
    private static let growth = 4
    /// Blocks of large messages have fewer slots.
    private static let bytesPerBlock = 16_384
    /// The largest block that an idle queue keeps.
    private static let mostBytesKept = 4_096

    let layout: MessageLayout
    /// The size of a slot, and where in it the envelope is.
    private let stride: Int
    private let envelopeOffset: Int
    /// Where the slots of a block begin.
    private let start: Int
    private let alignment: Int
    private(set) var count = 0
    /// The next slot to be filled, and where those of its block end.
    private var end: UnsafeMutableRawPointer?
    private var endOfLast: UnsafeMutableRawPointer?
    /// The next slot to be emptied, and where those of its block end.
    private var first: UnsafeMutableRawPointer?
    private var endOfFirst: UnsafeMutableRawPointer?
    private var firstBlock: UnsafeMutableRawPointer?
    private var lastBlock: UnsafeMutableRawPointer?

    init(_ layout: MessageLayout) {
        self.layout = layout
        alignment = unsafe max(layout.alignment, MemoryLayout<Header>.alignment)
        envelopeOffset = Self.roundUp(layout.size, to: MemoryLayout<UInt>.alignment)
        stride = Self.roundUp(envelopeOffset + MemoryLayout<UInt>.size, to: alignment)
        start = unsafe Self.roundUp(MemoryLayout<Header>.size, to: alignment)
    }

    deinit {
        var (block, slot, left) = unsafe (firstBlock, first, count)
        while let current = unsafe block {
            let header = unsafe Self.header(of: current).pointee
            let end = unsafe current + start + header.capacity * stride
            while let full = unsafe slot, unsafe left > 0 && full < end {
                unsafe layout.destroy(MessageAddress(full))
                unsafe Unretained<Envelope>(address: full.load(fromByteOffset: envelopeOffset, as: UInt.self))?
                    .release()
                unsafe slot = full + stride
                left -= 1
            }
            unsafe block = header.next
            unsafe slot = header.next.map { unsafe $0 + start }
            unsafe current.deallocate()
        }
    }

    var isEmpty: Bool { count == 0 }

    // MARK: Filling

    /// Copies a message to the end.
    @inline(__always)
    mutating func append(copying message: MessageAddress, _ envelope: Envelope? = nil) {
        layout.copy(from: message, to: freeSlot)
        slotIsFilled(envelope)
    }

    /// The slot for the next message: ``slotIsFilled(_:)`` is to follow.
    @inline(__always)
    var freeSlot: MessageAddress {
        mutating get {
            if unsafe UInt(bitPattern: end) == UInt(bitPattern: endOfLast) { addBlock() }
            // There is a block after `addBlock`, with a free slot at `end`.
            return unsafe MessageAddress(end.unsafelyUnwrapped)
        }
    }

    /// A message has been put into the free slot.
    @inline(__always)
    mutating func slotIsFilled(_ envelope: Envelope? = nil) {
        // There is a block. The retain is balanced when the slot is emptied.
        let slot = unsafe end.unsafelyUnwrapped
        let reference = envelope.map { Unretained.retaining($0).address } ?? 0
        unsafe slot.storeBytes(of: reference, toByteOffset: envelopeOffset, as: UInt.self)
        unsafe end = slot + stride
        count &+= 1
    }

    /// The message enqueued last, in place.
    var last: MessageAddress? {
        guard count > 0, let end = unsafe end else { return nil }
        // The slot before the next to be filled: a block is only added for a message, so it is in the last
        // block.
        return unsafe MessageAddress(end - stride)
    }

    // MARK: Emptying

    /// The first message, in place, and its envelope, still retained by the slot. There must be one.
    @inline(__always)
    func peek() -> (message: MessageAddress, envelope: Unretained<Envelope>?) {
        // There is a message, so there is a block.
        let slot = unsafe first.unsafelyUnwrapped
        let envelope = unsafe slot.load(fromByteOffset: envelopeOffset, as: UInt.self)
        return unsafe (MessageAddress(slot), Unretained(address: envelope))
    }

    /// Moves the first message to uninitialised memory and returns its envelope. There must be one.
    @inline(__always)
    mutating func moveFirst(to target: MessageAddress) -> Envelope? {
        let (message, envelope) = peek()
        layout.move(from: message, to: target)
        firstIsOut()
        return envelope?.take()
    }

    /// Destroys the first message and releases its envelope.
    @inline(__always)
    mutating func removeFirst() {
        let (message, envelope) = peek()
        layout.destroy(message)
        envelope?.release()
        firstIsOut()
    }

    /// The first slot has been emptied. It had no envelope, or that has been released.
    @inline(__always)
    mutating func firstIsOut() {
        // There was a message, so there is a block.
        let next = unsafe first.unsafelyUnwrapped + stride
        unsafe first = next
        count &-= 1
        if count == 0 {
            // The one block there is, is reused from its start.
            let slots = unsafe firstBlock.unsafelyUnwrapped + start
            unsafe first = slots
            unsafe end = slots
        } else if unsafe UInt(bitPattern: next) == UInt(bitPattern: endOfFirst) {
            dropFirstBlock()
        }
    }

    /// Frees the block of an empty queue, if it is large: no message is expected soon.
    mutating func giveBack() {
        guard count == 0, let block = unsafe lastBlock else { return }
        guard unsafe Self.header(of: block).pointee.capacity * stride > Self.mostBytesKept else { return }
        unsafe block.deallocate()
        unsafe firstBlock = nil
        unsafe lastBlock = nil
        unsafe first = nil
        unsafe endOfFirst = nil
        unsafe end = nil
        unsafe endOfLast = nil
    }

    // MARK: Blocks

    @inline(never)
    private mutating func dropFirstBlock() {
        // There are more messages, so there is a next block.
        let block = unsafe firstBlock.unsafelyUnwrapped
        let next = unsafe Self.header(of: block).pointee.next.unsafelyUnwrapped
        unsafe block.deallocate()
        unsafe beginAt(next)
    }

    /// Makes a block the first.
    private mutating func beginAt(_ block: UnsafeMutableRawPointer) {
        unsafe firstBlock = block
        unsafe first = block + start
        unsafe endOfFirst = block + start + Self.header(of: block).pointee.capacity * stride
    }

    @inline(never)
    private mutating func addBlock() {
        let most = max(4, min(Self.largestBlock, Self.bytesPerBlock / stride))
        let former = unsafe lastBlock.map { unsafe Self.header(of: $0).pointee.capacity }
        let capacity = min(former.map { $0 * Self.growth } ?? Self.smallestBlock, most)
        let block = UnsafeMutableRawPointer.allocate(byteCount: start + capacity * stride, alignment: alignment)
        unsafe block.initializeMemory(as: Header.self, to: Header(next: nil, capacity: capacity))
        if let lastBlock = unsafe lastBlock {
            unsafe Self.header(of: lastBlock).pointee.next = block
        } else {
            unsafe beginAt(block)
        }
        unsafe lastBlock = block
        unsafe end = block + start
        unsafe endOfLast = block + start + capacity * stride
    }

    @inline(__always)
    private static func header(of block: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Header> {
        unsafe block.assumingMemoryBound(to: Header.self)
    }

    private static func roundUp(_ size: Int, to alignment: Int) -> Int {
        (size + alignment - 1) / alignment * alignment
    }
}
