#if NATS
internal import Channels

/// Bytes that are appended at the end and removed at the front.
///
/// Unlike those of an array, they are written where they stay, without being copied from somewhere else first or set to
/// zero.
struct ByteQueue: ~Copyable, @unchecked Sendable {  // nothing else refers to its memory
    private var memory: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    private(set) var count = 0

    deinit { memory?.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    /// Makes room for some bytes at the end, which the caller must write, all of them.
    ///
    /// - Returns: Where they are, until the next change.
    mutating func append(_ size: Int) -> UnsafeMutableRawPointer {
        if size > capacity - count { grow(to: count + size) }
        defer { count += size }
        // There is memory, at least of a page.
        return memory! + count
    }

    mutating func append(_ other: UnsafeRawBufferPointer) {
        guard let start = other.baseAddress, !other.isEmpty else { return }
        append(other.count).copyMemory(from: start, byteCount: other.count)
    }

    /// Removes bytes from the front. The others move there.
    mutating func removeFirst(_ size: Int) {
        require(size <= count, "defect of swift-channels: a queue of \(count) bytes has no \(size) to remove")
        guard let memory, size > 0 else { return }
        count -= size
        memory.copyMemory(from: memory + size, byteCount: count)
    }

    /// Removes all, and keeps the memory if it is not larger than some bytes.
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
