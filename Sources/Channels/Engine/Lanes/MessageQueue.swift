/// A FIFO of messages of one layout, each with its envelope, in a chain of blocks.
///
/// Not synchronized: its owner's lock guards it. A slot holds only the message, because few messages have an envelope
/// and slots move between caches. A block gets a table of envelopes when one of its messages has one. The last block is
/// reused, so a queue that is emptied now and then allocates nothing. Messages are never moved to a larger buffer: in a
/// burst, that and the page faults took a third of the time of enqueueing.
///
/// `@safe` because pointers leave it only as addresses of messages. There are `count` messages, in the slots from
/// `first` (in the first block) to `end` (in the last), and only those are read, moved or destroyed.
@safe
struct MessageQueue: ~Copyable {
    /// The header at the beginning of a block.
    @unsafe
    private struct Header {
        /// The next block; nil in the last.
        var next: UnsafeMutableRawPointer?
        var capacity: Int
        /// For each slot, the reference to its envelope, or 0; nil if no slot has had one.
        var envelopes: UnsafeMutablePointer<UInt>?
    }

    private static let smallestBlock = 16
    private static let largestBlock = 256
    /// Each block has this many times as many slots as the one before, up to `largestBlock`.
    private static let growth = 4
    /// The size of the largest blocks, so that blocks of large messages have fewer slots.
    private static let bytesPerBlock = 16_384
    /// The size in bytes of the largest block that an idle queue keeps.
    private static let mostBytesKept = 2_048

    let layout: MessageLayout
    private let stride: Int
    /// The offset of a block's slots.
    private let start: Int
    /// The next slot to be filled, and the end of its block's slots.
    private var end: UnsafeMutableRawPointer?
    private var endOfLast: UnsafeMutableRawPointer?
    /// The place of that slot's envelope, if its block has a table.
    private var endOfEnvelopes: UnsafeMutablePointer<UInt>?
    private(set) var count = 0
    /// The next slot to be emptied, and the end of its block's slots.
    private var first: UnsafeMutableRawPointer?
    private var endOfFirst: UnsafeMutableRawPointer?
    /// The place of that slot's envelope, if its block has a table.
    private var firstOfEnvelopes: UnsafeMutablePointer<UInt>?
    private var firstBlock: UnsafeMutableRawPointer?
    private var lastBlock: UnsafeMutableRawPointer?

    init(_ layout: MessageLayout) {
        self.layout = layout
        let alignment = Self.alignment(layout)
        stride = max(layout.stride, 1)
        start = unsafe Self.roundUp(MemoryLayout<Header>.size, to: alignment)
    }

    deinit {
        var slot = unsafe first
        var block = unsafe firstBlock
        var left = count
        while let current = unsafe block {
            let header = unsafe Self.header(of: current).pointee
            var index = unsafe ((slot ?? current + start) - (current + start)) / stride
            while left > 0, unsafe index < header.capacity {
                unsafe layout.destroy(MessageAddress(current + start + index * stride))
                if let envelopes = unsafe header.envelopes {
                    unsafe Unretained<Envelope>(address: envelopes[index])?.release()
                }
                index += 1
                left -= 1
            }
            unsafe slot = nil
            unsafe block = header.next
            unsafe header.envelopes?.deallocate()
            unsafe current.deallocate()
        }
    }

    var isEmpty: Bool { count == 0 }

    mutating func append(copying message: MessageAddress, _ envelope: Envelope?) {
        append(copying: message)
        if let envelope { keep(envelope) }
    }

    mutating func append(copying message: MessageAddress) {
        layout.copy(from: message, to: freeSlot)
        fillSlot()
    }

    /// The slot for the next message. Once it is filled, the caller calls ``fillSlot()``.
    var freeSlot: MessageAddress {
        mutating get {
            if unsafe UInt(bitPattern: end) == UInt(bitPattern: endOfLast) { addBlock() }
            // After `addBlock` there is a block with a free slot at `end`.
            return unsafe MessageAddress(end.unsafelyUnwrapped)
        }
    }

    /// Counts a message put into the free slot.
    mutating func fillSlot() {
        // There is a block.
        unsafe end = end.unsafelyUnwrapped + stride
        count &+= 1
        if let envelopes = unsafe endOfEnvelopes {
            unsafe envelopes.pointee = 0
            unsafe endOfEnvelopes = envelopes + 1
        }
    }

    /// The message enqueued last, in place.
    var last: MessageAddress? {
        guard count > 0, let end = unsafe end else { return nil }
        // The last message is in the last block, just before `end`: a block is added only for a message.
        return unsafe MessageAddress(end - stride)
    }

    /// Moves the first message, which must exist, to uninitialized memory. Returns its envelope.
    mutating func moveFirst(to target: MessageAddress) -> Envelope? {
        let (message, envelope) = peek()
        layout.move(from: message, to: target)
        emptySlot()
        // Balances the retain in `keep`.
        return envelope?.take()
    }

    /// Returns the first message, which must exist, in place, and its envelope, still retained by the slot.
    func peek() -> (message: MessageAddress, envelope: Unretained<Envelope>?) {
        // There is a message, so there is a block.
        let message = unsafe MessageAddress(first.unsafelyUnwrapped)
        guard let envelopes = unsafe firstOfEnvelopes else { return (message, nil) }
        return unsafe (message, Unretained(address: envelopes.pointee))
    }

    mutating func removeFirst() {
        let (message, envelope) = peek()
        layout.destroy(message)
        envelope?.release()
        emptySlot()
    }

    /// Removes the first slot, once its message was moved or destroyed and its envelope, if any, released.
    mutating func emptySlot() {
        // There was a message, so there is a block.
        let next = unsafe first.unsafelyUnwrapped + stride
        unsafe first = next
        if let envelopes = unsafe firstOfEnvelopes { unsafe firstOfEnvelopes = envelopes + 1 }
        count &-= 1
        if count == 0 {
            startOver()
        } else if unsafe UInt(bitPattern: next) == UInt(bitPattern: endOfFirst) {
            dropFirstBlock()
        }
    }

    /// Frees the block of an empty queue if it is large. Called when no message is expected soon.
    mutating func giveBack() {
        guard count == 0, let block = unsafe lastBlock else { return }
        let header = unsafe Self.header(of: block).pointee
        guard unsafe header.capacity * stride > Self.mostBytesKept else { return }
        unsafe header.envelopes?.deallocate()
        unsafe block.deallocate()
        unsafe firstBlock = nil
        unsafe lastBlock = nil
        unsafe first = nil
        unsafe endOfFirst = nil
        unsafe firstOfEnvelopes = nil
        unsafe end = nil
        unsafe endOfLast = nil
        unsafe endOfEnvelopes = nil
    }

    /// Keeps the envelope of the message just enqueued.
    mutating func keep(_ envelope: Envelope) {
        // There is a block: a message was enqueued.
        let block = unsafe lastBlock.unsafelyUnwrapped
        if unsafe endOfEnvelopes == nil {
            let capacity = unsafe Self.header(of: block).pointee.capacity
            let envelopes = UnsafeMutablePointer<UInt>.allocate(capacity: capacity)
            unsafe envelopes.initialize(repeating: 0, count: capacity)
            unsafe Self.header(of: block).pointee.envelopes = envelopes
            unsafe endOfEnvelopes = envelopes + (end.unsafelyUnwrapped - (block + start)) / stride
            if unsafe firstBlock == block {
                unsafe firstOfEnvelopes = envelopes + (first.unsafelyUnwrapped - (block + start)) / stride
            }
        }
        // Balanced when the slot is emptied.
        unsafe (endOfEnvelopes.unsafelyUnwrapped - 1).pointee = Unretained.retaining(envelope).address
    }

    /// Reuses the block of an empty queue. There is one, because a message was in it.
    private mutating func startOver() {
        let slots = unsafe firstBlock.unsafelyUnwrapped + start
        unsafe first = slots
        unsafe end = slots
        guard unsafe endOfEnvelopes != nil else { return }
        let envelopes = unsafe Self.header(of: firstBlock.unsafelyUnwrapped).pointee.envelopes
        unsafe firstOfEnvelopes = envelopes
        unsafe endOfEnvelopes = envelopes
    }

    private mutating func dropFirstBlock() {
        // There are more messages, so there is a next block.
        let block = unsafe firstBlock.unsafelyUnwrapped
        let header = unsafe Self.header(of: block).pointee
        unsafe header.envelopes?.deallocate()
        unsafe block.deallocate()
        unsafe beginAt(header.next.unsafelyUnwrapped)
    }

    private mutating func beginAt(_ block: UnsafeMutableRawPointer) {
        let header = unsafe Self.header(of: block).pointee
        unsafe firstBlock = block
        unsafe first = block + start
        unsafe endOfFirst = block + start + header.capacity * stride
        unsafe firstOfEnvelopes = header.envelopes
    }

    private mutating func addBlock() {
        let most = max(4, min(Self.largestBlock, Self.bytesPerBlock / stride))
        let former = unsafe lastBlock.map { unsafe Self.header(of: $0).pointee.capacity }
        let capacity = min(former.map { $0 * Self.growth } ?? Self.smallestBlock, most)
        let alignment = Self.alignment(layout)
        let block = UnsafeMutableRawPointer.allocate(byteCount: start + capacity * stride, alignment: alignment)
        unsafe block.initializeMemory(as: Header.self, to: Header(next: nil, capacity: capacity, envelopes: nil))
        if let lastBlock = unsafe lastBlock {
            unsafe Self.header(of: lastBlock).pointee.next = block
        } else {
            unsafe beginAt(block)
        }
        unsafe lastBlock = block
        unsafe end = block + start
        unsafe endOfLast = block + start + capacity * stride
        unsafe endOfEnvelopes = nil
    }

    private static func header(of block: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Header> {
        unsafe block.assumingMemoryBound(to: Header.self)
    }

    private static func alignment(_ layout: MessageLayout) -> Int {
        unsafe max(layout.alignment, MemoryLayout<Header>.alignment)
    }

    private static func roundUp(_ size: Int, to alignment: Int) -> Int {
        (size + alignment - 1) / alignment * alignment
    }
}
