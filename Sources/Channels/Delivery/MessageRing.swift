/// A FIFO of messages of one layout, each with its envelope, in one growing buffer.
///
/// Not synchronised: its owner's lock guards it. Slots hold the envelope's reference (or 0) and, behind it, the message.
struct MessageRing: ~Copyable {
    private static let smallest = 16
    /// An emptied buffer above this many slots is given back.
    private static let largestKept = 1_024

    let layout: MessageLayout
    private let offset: Int
    private let stride: Int
    private var slots: UnsafeMutableRawPointer?
    private var capacity = 0
    private var first = 0
    private(set) var count = 0

    init(_ layout: MessageLayout) {
        self.layout = layout
        let alignment = max(layout.alignment, MemoryLayout<UInt>.alignment)
        offset = max(MemoryLayout<UInt>.size, layout.alignment)
        stride = (offset + max(layout.stride, 1) + alignment - 1) / alignment * alignment
    }

    deinit {
        for index in 0..<count {
            let slot = slots! + ((first + index) & (capacity - 1)) * stride
            layout.destroy(slot + offset)
            Self.envelope(in: slot)?.release()
        }
        slots?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    /// Copies a message to the end.
    @inline(__always)
    mutating func append(copying message: UnsafeMutableRawPointer, _ envelope: Envelope?) {
        if count == capacity { grow() }
        let slot = slots! + ((first &+ count) & (capacity &- 1)) &* stride
        if let envelope {
            // Balanced where the slot is emptied.
            slot.storeBytes(of: UInt(bitPattern: Unmanaged.passRetained(envelope).toOpaque()), as: UInt.self)
        } else {
            slot.storeBytes(of: 0, as: UInt.self)
        }
        layout.copy(from: message, to: slot + offset)
        count &+= 1
    }

    /// Moves the first message to uninitialised memory and returns its envelope. There must be one.
    @inline(__always)
    mutating func moveFirst(to target: UnsafeMutableRawPointer) -> Envelope? {
        let slot = slots! + first &* stride
        layout.move(from: slot + offset, to: target)
        let envelope = Self.envelope(in: slot)?.takeRetainedValue()
        first = (first &+ 1) & (capacity &- 1)
        count &-= 1
        if count == 0 { giveBackIfLarge() }
        return envelope
    }

    /// The first message, where it stands, and its envelope, still held by the slot.
    @inline(__always)
    func peek() -> (message: UnsafeMutableRawPointer, envelope: Unmanaged<Envelope>?) {
        let slot = slots! + first &* stride
        return (slot + offset, Self.envelope(in: slot))
    }

    /// Destroys the first message and gives up its envelope.
    @inline(__always)
    mutating func removeFirst() {
        let slot = slots! + first &* stride
        first = (first &+ 1) & (capacity &- 1)
        count &-= 1
        layout.destroy(slot + offset)
        Self.envelope(in: slot)?.release()
    }

    /// Gives a large buffer back once it is empty.
    mutating func giveBackIfLarge() {
        guard count == 0, capacity > Self.largestKept else { return }
        slots?.deallocate()
        slots = nil
        capacity = 0
        first = 0
    }

    @inline(__always)
    private static func envelope(in slot: UnsafeMutableRawPointer) -> Unmanaged<Envelope>? {
        UnsafeRawPointer(bitPattern: slot.load(as: UInt.self)).map { .fromOpaque($0) }
    }

    @inline(never)
    private mutating func grow() {
        let larger = max(Self.smallest, capacity * 2)
        let target = UnsafeMutableRawPointer.allocate(
            byteCount: larger * stride,
            alignment: max(layout.alignment, MemoryLayout<UInt>.alignment)
        )
        for index in 0..<count {
            let from = slots! + ((first + index) & (capacity - 1)) * stride
            let to = target + index * stride
            to.storeBytes(of: from.load(as: UInt.self), as: UInt.self)
            layout.move(from: from + offset, to: to + offset)
        }
        slots?.deallocate()
        slots = target
        capacity = larger
        first = 0
    }
}
