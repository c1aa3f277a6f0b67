#if NATS
internal import Channels

/// Bytes that are appended at the end and removed at the front.
///
/// Unlike with an array, bytes are written directly where they stay. The memory is not set to zero first, and
/// nothing is copied into it.
struct ByteQueue: ~Copyable, @unchecked Sendable {  // nothing else refers to its memory
    private var memory: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    private(set) var count = 0

    deinit { memory?.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    /// Makes room for bytes at the end. The caller must write all of them.
    ///
    /// - Returns: The address of the room, valid until the next change.
    mutating func append(_ size: Int) -> UnsafeMutableRawPointer {
        if size > capacity - count { grow(to: count + size) }
        defer { count += size }
        // There is memory now, at least a page.
        return memory! + count
    }

    mutating func append(_ other: UnsafeRawBufferPointer) {
        guard let start = other.baseAddress, !other.isEmpty else { return }
        append(other.count).copyMemory(from: start, byteCount: other.count)
    }

    /// Removes bytes from the front, and moves the others there.
    mutating func removeFirst(_ size: Int) {
        require(size <= count, "defect of swift-channels: a queue of \(count) bytes has no \(size) to remove")
        guard let memory, size > 0 else { return }
        count -= size
        memory.copyMemory(from: memory + size, byteCount: count)
    }

    /// Removes all bytes, and keeps the memory if it is not larger than a limit.
    mutating func removeAll(keepingUpTo limit: Int) {
        count = 0
        guard capacity > limit else { return }
        memory?.deallocate()
        (memory, capacity) = (nil, 0)
    }

    private mutating func grow(to needed: Int) {
        let size = max(needed, 2 * capacity, 4_096)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        if let memory {
            grown.copyMemory(from: memory, byteCount: count)
            memory.deallocate()
        }
        (memory, capacity) = (grown, size)
    }
}
#endif
