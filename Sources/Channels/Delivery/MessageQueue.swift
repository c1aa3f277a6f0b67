/// A FIFO of messages of one layout, each with its envelope, in a chain of blocks.
///
/// Not synchronised: its owner's lock guards it. A slot holds the message and nothing else: few messages have an envelope, and slots travel from the
/// poster's cache to the listener's. A block in which one has gets a table of envelopes. Blocks are used up one
/// after the other and the last is used again, so that a queue that is emptied now and then allocates nothing, and nothing is ever moved
/// to a larger buffer: for a burst, that and fresh pages of memory were a third of the time of enqueueing.
struct MessageQueue: ~Copyable {
    /// The first words of a block.
    private struct Header {
        /// The block behind it; nil in the last.
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
    /// What an empty queue that is not needed for now keeps.
    private static let mostBytesKept = 2_048

    let layout: MessageLayout
    private let stride: Int
    /// Where the slots of a block begin.
    private let start: Int
    private var firstBlock: UnsafeMutableRawPointer?
    private var lastBlock: UnsafeMutableRawPointer?
    /// The tables of the first and the last block, as their headers have them.
    private var firstEnvelopes: UnsafeMutablePointer<UInt>?
    private var lastEnvelopes: UnsafeMutablePointer<UInt>?
    /// The next slot to be taken out, in the first block.
    private var first = 0
    /// The next slot to be filled, and how many there are, in the last block.
    private var end = 0
    private var capacity = 0
    private(set) var count = 0

    init(_ layout: MessageLayout) {
        self.layout = layout
        let alignment = Self.alignment(layout)
        stride = max(layout.stride, 1)
        start = Self.roundUp(MemoryLayout<Header>.size, to: alignment)
    }

    deinit {
        var index = first
        var block = firstBlock
        var left = count
        while let current = block {
            let header = Self.header(of: current).pointee
            while left > 0, index < header.capacity {
                layout.destroy(current + start + index * stride)
                if let envelopes = header.envelopes { Self.envelope(envelopes[index])?.release() }
                index += 1
                left -= 1
            }
            index = 0
            block = header.next
            header.envelopes?.deallocate()
            current.deallocate()
        }
    }

    var isEmpty: Bool { count == 0 }

    /// Copies a message to the end.
    @inline(__always)
    mutating func append(copying message: UnsafeMutableRawPointer, _ envelope: Envelope?) {
        append(copying: message)
        if let envelope { keep(envelope) }
    }

    /// The same for a message without an envelope.
    @inline(__always)
    mutating func append(copying message: UnsafeMutableRawPointer) {
        if end == capacity { addBlock() }
        // There is one after `addBlock`.
        layout.copy(from: message, to: lastBlock.unsafelyUnwrapped + start + end &* stride)
        if let lastEnvelopes { lastEnvelopes[end] = 0 }
        end &+= 1
        count &+= 1
    }

    /// Moves the first message to uninitialised memory and returns its envelope. There must be one.
    @inline(__always)
    mutating func moveFirst(to target: UnsafeMutableRawPointer) -> Envelope? {
        layout.move(from: firstSlot, to: target)
        // Balances the retain in `keep`.
        let envelope = firstEnvelope?.takeRetainedValue()
        firstIsOut()
        return envelope
    }

    /// The first message, where it stands, and its envelope, still held by the slot.
    @inline(__always)
    func peek() -> (message: UnsafeMutableRawPointer, envelope: Unmanaged<Envelope>?) {
        (firstSlot, firstEnvelope)
    }

    /// Destroys the first message and gives up its envelope.
    @inline(__always)
    mutating func removeFirst() {
        layout.destroy(firstSlot)
        firstEnvelope?.release()
        firstIsOut()
    }

    /// Gives up the block of an empty queue, where it is large: nothing is expected soon.
    mutating func giveBack() {
        guard count == 0, let block = lastBlock, capacity * stride > Self.mostBytesKept else { return }
        lastEnvelopes?.deallocate()
        block.deallocate()
        firstBlock = nil
        lastBlock = nil
        firstEnvelopes = nil
        lastEnvelopes = nil
        first = 0
        end = 0
        capacity = 0
    }

    // MARK: Slots and blocks

    /// There must be a message.
    @inline(__always)
    private var firstSlot: UnsafeMutableRawPointer { firstBlock.unsafelyUnwrapped + start + first &* stride }

    /// Still held by the queue.
    @inline(__always)
    private var firstEnvelope: Unmanaged<Envelope>? { firstEnvelopes.flatMap { Self.envelope($0[first]) } }

    /// Keeps the envelope of the message just put in.
    @inline(never)
    private mutating func keep(_ envelope: Envelope) {
        // There is one: a message was put in.
        let block = lastBlock.unsafelyUnwrapped
        let envelopes: UnsafeMutablePointer<UInt>
        if let lastEnvelopes {
            envelopes = lastEnvelopes
        } else {
            envelopes = .allocate(capacity: capacity)
            envelopes.initialize(repeating: 0, count: capacity)
            Self.header(of: block).pointee.envelopes = envelopes
            lastEnvelopes = envelopes
            if firstBlock == block { firstEnvelopes = envelopes }
        }
        // Balanced where the slot is emptied.
        envelopes[end - 1] = UInt(bitPattern: Unmanaged.passRetained(envelope).toOpaque())
    }

    /// The slot of the first message is free.
    @inline(__always)
    private mutating func firstIsOut() {
        first &+= 1
        count &-= 1
        if count == 0 {
            // The only block left, because a block is added for a message only, is used from its beginning.
            first = 0
            end = 0
        } else if firstBlock != lastBlock, first == Self.header(of: firstBlock.unsafelyUnwrapped).pointee.capacity {
            first = 0
            dropFirstBlock()
        }
    }

    @inline(never)
    private mutating func dropFirstBlock() {
        let block = firstBlock.unsafelyUnwrapped
        // There is one behind it, see above.
        let next = Self.header(of: block).pointee.next.unsafelyUnwrapped
        firstBlock = next
        firstEnvelopes?.deallocate()
        firstEnvelopes = Self.header(of: next).pointee.envelopes
        block.deallocate()
    }

    @inline(never)
    private mutating func addBlock() {
        let most = max(4, min(Self.largestBlock, Self.bytesPerBlock / stride))
        let capacity = min(capacity == 0 ? Self.smallestBlock : capacity * Self.growth, most)
        let block = UnsafeMutableRawPointer.allocate(byteCount: start + capacity * stride, alignment: Self.alignment(layout))
        block.initializeMemory(as: Header.self, to: Header(next: nil, capacity: capacity, envelopes: nil))
        if let lastBlock { Self.header(of: lastBlock).pointee.next = block } else { firstBlock = block }
        lastBlock = block
        lastEnvelopes = nil
        self.capacity = capacity
        end = 0
    }

    @inline(__always)
    private static func header(of block: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Header> {
        block.assumingMemoryBound(to: Header.self)
    }

    @inline(__always)
    private static func envelope(_ bits: UInt) -> Unmanaged<Envelope>? {
        UnsafeRawPointer(bitPattern: bits).map { .fromOpaque($0) }
    }

    private static func alignment(_ layout: MessageLayout) -> Int {
        max(layout.alignment, MemoryLayout<Header>.alignment)
    }

    private static func roundUp(_ size: Int, to alignment: Int) -> Int {
        (size + alignment - 1) / alignment * alignment
    }
}
