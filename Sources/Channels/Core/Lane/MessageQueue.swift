/// A FIFO of messages of one layout, each with its envelope, in a chain of blocks.
///
/// Not synchronised: its owner's lock guards it. A slot holds only the message: few have an envelope, and
/// slots move from the poster's cache to the listener's. A block gets a table of envelopes when one of its
/// messages has one. Blocks are used in turn and the last is reused, so that a queue that is emptied now and
/// then allocates nothing, and nothing is moved to a larger buffer: in a burst, that and page faults took a
/// third of the time of enqueueing.
///
/// `@safe` because no pointer leaves it except as the address of a message: `count` messages are in the slots
/// from `first` in the first block to `end` in the last, and only those are read, moved or destroyed.
@safe
struct MessageQueue: ~Copyable {
    /// The first words of a block.
    @unsafe
    private struct Header {
        /// The next block; nil in the last.
        var next: UnsafeMutableRawPointer?
        var capacity: Int
        /// The references of the envelopes, or 0, for each slot; nil where none had one.
        var envelopes: UnsafeMutablePointer<UInt>?
    }

    private static let smallestBlock = 16
    private static let largestBlock = 256
    /// Each block has four times as many slots as the one before, up to this.
    private static let growth = 4
    /// Blocks of large messages have fewer slots.
    private static let bytesPerBlock = 16_384
    /// The largest block that an idle queue keeps.
    private static let mostBytesKept = 2_048

    let layout: MessageLayout
    private let stride: Int
    /// Where the slots of a block begin.
    private let start: Int
    private var firstBlock: UnsafeMutableRawPointer?
    private var lastBlock: UnsafeMutableRawPointer?
    /// The tables of the first and the last block, as in their headers.
    private var firstEnvelopes: UnsafeMutablePointer<UInt>?
    private var lastEnvelopes: UnsafeMutablePointer<UInt>?
    /// The next slot to be emptied, in the first block.
    private var first = 0
    /// The next slot to be filled, and how many there are, in the last block.
    private var end = 0
    private var capacity = 0
    private(set) var count = 0

    init(_ layout: MessageLayout) {
        self.layout = layout
        let alignment = Self.alignment(layout)
        stride = max(layout.stride, 1)
        start = unsafe Self.roundUp(MemoryLayout<Header>.size, to: alignment)
    }

    deinit {
        var index = first
        var block = unsafe firstBlock
        var left = count
        while let current = unsafe block {
            let header = unsafe Self.header(of: current).pointee
            while left > 0, unsafe index < header.capacity {
                unsafe layout.destroy(MessageAddress(current + start + index * stride))
                if let envelopes = unsafe header.envelopes {
                    unsafe Unretained<Envelope>(address: envelopes[index])?.release()
                }
                index += 1
                left -= 1
            }
            index = 0
            unsafe block = header.next
            unsafe header.envelopes?.deallocate()
            unsafe current.deallocate()
        }
    }

    var isEmpty: Bool { count == 0 }

    /// Copies a message to the end.
    @inline(__always)
    mutating func append(copying message: MessageAddress, _ envelope: Envelope?) {
        append(copying: message)
        if let envelope { keep(envelope) }
    }

    /// The same for a message without an envelope.
    @inline(__always)
    mutating func append(copying message: MessageAddress) {
        if end == capacity { addBlock() }
        // There is a block after `addBlock`, with a free slot at `end`.
        unsafe layout.copy(from: message, to: MessageAddress(lastBlock.unsafelyUnwrapped + start + end &* stride))
        if let lastEnvelopes = unsafe lastEnvelopes { unsafe lastEnvelopes[end] = 0 }
        end &+= 1
        count &+= 1
    }

    /// Moves the first message to uninitialised memory and returns its envelope. There must be one.
    @inline(__always)
    mutating func moveFirst(to target: MessageAddress) -> Envelope? {
        layout.move(from: firstSlot, to: target)
        // Balances the retain in `keep`.
        let envelope = firstEnvelope?.take()
        firstIsOut()
        return envelope
    }

    /// The first message, in place, and its envelope, still retained by the slot. There must be one.
    @inline(__always)
    func peek() -> (message: MessageAddress, envelope: Unretained<Envelope>?) {
        (firstSlot, firstEnvelope)
    }

    /// The message enqueued last, in place.
    var last: MessageAddress? {
        guard count > 0 else { return nil }
        // The slot before the next to be filled: a block is only added for a message, so it is in the last
        // block.
        return unsafe MessageAddress(lastBlock.unsafelyUnwrapped + start + (end - 1) * stride)
    }

    /// Destroys the first message and releases its envelope.
    @inline(__always)
    mutating func removeFirst() {
        layout.destroy(firstSlot)
        firstEnvelope?.release()
        firstIsOut()
    }

    /// Frees the block of an empty queue, if it is large: no message is expected soon.
    mutating func giveBack() {
        guard count == 0, let block = unsafe lastBlock, capacity * stride > Self.mostBytesKept else { return }
        unsafe lastEnvelopes?.deallocate()
        unsafe block.deallocate()
        unsafe firstBlock = nil
        unsafe lastBlock = nil
        unsafe firstEnvelopes = nil
        unsafe lastEnvelopes = nil
        first = 0
        end = 0
        capacity = 0
    }

    // MARK: Slots and blocks

    /// There must be a message.
    @inline(__always)
    private var firstSlot: MessageAddress {
        unsafe MessageAddress(firstBlock.unsafelyUnwrapped + start + first &* stride)
    }

    /// Still retained by the queue.
    @inline(__always)
    private var firstEnvelope: Unretained<Envelope>? {
        guard let envelopes = unsafe firstEnvelopes else { return nil }
        return unsafe Unretained(address: envelopes[first])
    }

    /// Keeps the envelope of the message just enqueued.
    @inline(never)
    private mutating func keep(_ envelope: Envelope) {
        // There is a block: a message was enqueued.
        let block = unsafe lastBlock.unsafelyUnwrapped
        if unsafe lastEnvelopes == nil {
            let envelopes = UnsafeMutablePointer<UInt>.allocate(capacity: capacity)
            unsafe envelopes.initialize(repeating: 0, count: capacity)
            unsafe Self.header(of: block).pointee.envelopes = envelopes
            unsafe lastEnvelopes = envelopes
            if unsafe firstBlock == block { unsafe firstEnvelopes = envelopes }
        }
        // Balanced when the slot is emptied.
        unsafe lastEnvelopes.unsafelyUnwrapped[end - 1] = Unretained.retaining(envelope).address
    }

    /// The slot of the first message is free.
    @inline(__always)
    private mutating func firstIsOut() {
        first &+= 1
        count &-= 1
        if count == 0 {
            // Blocks are only added for messages, so this is the only one left: reuse it from its start.
            first = 0
            end = 0
        } else if unsafe firstBlock != lastBlock,
            unsafe first == Self.header(of: firstBlock.unsafelyUnwrapped).pointee.capacity
        {
            first = 0
            dropFirstBlock()
        }
    }

    @inline(never)
    private mutating func dropFirstBlock() {
        let block = unsafe firstBlock.unsafelyUnwrapped
        // There is a next one, see above.
        let next = unsafe Self.header(of: block).pointee.next.unsafelyUnwrapped
        unsafe firstBlock = next
        unsafe firstEnvelopes?.deallocate()
        unsafe firstEnvelopes = Self.header(of: next).pointee.envelopes
        unsafe block.deallocate()
    }

    @inline(never)
    private mutating func addBlock() {
        let most = max(4, min(Self.largestBlock, Self.bytesPerBlock / stride))
        let capacity = min(capacity == 0 ? Self.smallestBlock : capacity * Self.growth, most)
        let alignment = Self.alignment(layout)
        let block = UnsafeMutableRawPointer.allocate(byteCount: start + capacity * stride, alignment: alignment)
        unsafe block.initializeMemory(as: Header.self, to: Header(next: nil, capacity: capacity, envelopes: nil))
        if let lastBlock = unsafe lastBlock {
            unsafe Self.header(of: lastBlock).pointee.next = block
        } else {
            unsafe firstBlock = block
        }
        unsafe lastBlock = block
        unsafe lastEnvelopes = nil
        self.capacity = capacity
        end = 0
    }

    @inline(__always)
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
