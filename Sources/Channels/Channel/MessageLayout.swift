/// How messages of a type are kept in memory, for code that does not know the type.
struct MessageLayout: Sendable {
    let type: any Any.Type
    let size: Int
    /// What a value is given in memory of its own.
    let stride: Int
    let alignment: Int
    /// Whether a copy is a copy of the bytes and there is nothing to destroy.
    let isTrivial: Bool

    init<Message>(_ type: Message.Type) {
        self.type = type
        size = MemoryLayout<Message>.size
        stride = MemoryLayout<Message>.stride
        alignment = MemoryLayout<Message>.alignment
        isTrivial = _isPOD(type)
        isWord = isTrivial && size == MemoryLayout<UInt>.size && alignment == MemoryLayout<UInt>.alignment
    }

    /// Whether it is trivial and one word, as most small messages are.
    let isWord: Bool

    @inline(__always)
    func copy(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        if isWord {
            target.storeBytes(of: source.load(as: UInt.self), as: UInt.self)
        } else {
            copyInFull(from: source, to: target)
        }
    }

    @inline(__always)
    func move(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        if isWord {
            target.storeBytes(of: source.load(as: UInt.self), as: UInt.self)
        } else {
            moveInFull(from: source, to: target)
        }
    }

    @inline(__always)
    func destroy(_ message: UnsafeMutableRawPointer) {
        if !isTrivial { destroyInFull(message) }
    }

    @inline(never)
    private func copyInFull(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        func copy<Message>(_: Message.Type) {
            target.initializeMemory(as: Message.self, to: source.assumingMemoryBound(to: Message.self).pointee)
        }
        if isTrivial { target.copyMemory(from: source, byteCount: size) } else { _openExistential(type, do: copy) }
    }

    @inline(never)
    private func moveInFull(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        func move<Message>(_: Message.Type) {
            target.initializeMemory(as: Message.self, to: source.assumingMemoryBound(to: Message.self).move())
        }
        if isTrivial { target.copyMemory(from: source, byteCount: size) } else { _openExistential(type, do: move) }
    }

    @inline(never)
    private func destroyInFull(_ message: UnsafeMutableRawPointer) {
        func destroy<Message>(_: Message.Type) {
            message.assumingMemoryBound(to: Message.self).deinitialize(count: 1)
        }
        _openExistential(type, do: destroy)
    }
}
