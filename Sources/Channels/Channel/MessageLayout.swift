/// How messages of a type are kept in memory, for code that does not know the type.
struct MessageLayout: Sendable {
    let type: any Any.Type
    let size: Int
    let alignment: Int
    /// Whether a copy is a copy of the bytes and there is nothing to destroy.
    let isTrivial: Bool

    init<Message>(_ type: Message.Type) {
        self.type = type
        size = MemoryLayout<Message>.size
        alignment = MemoryLayout<Message>.alignment
        isTrivial = _isPOD(type)
    }

    func copy(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        func copy<Message>(_: Message.Type) {
            target.initializeMemory(as: Message.self, from: source.assumingMemoryBound(to: Message.self), count: 1)
        }
        if isTrivial { target.copyMemory(from: source, byteCount: size) } else { _openExistential(type, do: copy) }
    }

    func move(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer) {
        func move<Message>(_: Message.Type) {
            target.moveInitializeMemory(as: Message.self, from: source.assumingMemoryBound(to: Message.self), count: 1)
        }
        if isTrivial { target.copyMemory(from: source, byteCount: size) } else { _openExistential(type, do: move) }
    }

    func destroy(_ message: UnsafeMutableRawPointer) {
        func destroy<Message>(_: Message.Type) {
            message.assumingMemoryBound(to: Message.self).deinitialize(count: 1)
        }
        if !isTrivial { _openExistential(type, do: destroy) }
    }
}
