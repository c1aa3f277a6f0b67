/// How messages of a type are kept in memory, for code that does not know the type.
struct MessageLayout: Sendable {
    let type: any Any.Type
    let size: Int
    let stride: Int
    let alignment: Int
    /// Whether copying a message means copying its bytes, with nothing to destroy.
    let isTrivial: Bool
    /// The size, in words, of a trivial type of one or two words, like most small messages; 0 for any other type.
    private let words: Int

    init<Message>(_ type: Message.Type) {
        self.type = type
        size = MemoryLayout<Message>.size
        stride = MemoryLayout<Message>.stride
        alignment = MemoryLayout<Message>.alignment
        isTrivial = _isPOD(type)
        let isInWords = isTrivial && alignment == MemoryLayout<UInt>.alignment && size == stride
        words = isInWords && stride <= 2 * MemoryLayout<UInt>.stride ? stride / MemoryLayout<UInt>.stride : 0
    }

    /// Allocates memory that holds no message yet. Free it with ``MessageAddress/deallocate()``.
    func allocate() -> MessageAddress {
        unsafe MessageAddress(.allocate(byteCount: max(stride, 1), alignment: alignment))
    }

    /// Lends memory on the stack, which holds no message at first and must hold none at the end.
    func withTemporary<Result>(_ body: (MessageAddress) -> Result) -> Result {
        unsafe withUnsafeTemporaryAllocation(byteCount: max(stride, 1), alignment: alignment) {
            // At least one byte is allocated.
            unsafe body(MessageAddress($0.baseAddress.unsafelyUnwrapped))
        }
    }

    func copy(from source: MessageAddress, to target: MessageAddress) {
        if words > 0 {
            copyWords(from: source, to: target)
        } else {
            Self.copyInFull(type, isTrivial ? size : nil, from: source, to: target)
        }
    }

    func move(from source: MessageAddress, to target: MessageAddress) {
        if words > 0 {
            copyWords(from: source, to: target)
        } else {
            Self.moveInFull(type, isTrivial ? size : nil, from: source, to: target)
        }
    }

    private func copyWords(from source: MessageAddress, to target: MessageAddress) {
        let second = MemoryLayout<UInt>.stride
        unsafe target.raw.storeBytes(of: source.raw.load(as: UInt.self), as: UInt.self)
        guard words > 1 else { return }
        let word = unsafe source.raw.load(fromByteOffset: second, as: UInt.self)
        unsafe target.raw.storeBytes(of: word, toByteOffset: second, as: UInt.self)
    }

    func destroy(_ message: MessageAddress) { if !isTrivial { Self.destroyInFull(type, message) } }

    /// Copies a message into an existential.
    func boxed(_ message: MessageAddress) -> any Sendable {
        guard words == 0 else {
            let first = unsafe message.raw.load(as: UInt.self)
            let second =
                words > 1 ? unsafe message.raw.load(fromByteOffset: MemoryLayout<UInt>.stride, as: UInt.self) : 0
            // An existential is three words, which hold a trivial value of at most that size, and then the type.
            return unsafe unsafeBitCast(((first, second, 0 as UInt), type), to: (any Sendable).self)
        }
        func box<Message>(_ type: Message.Type) -> Any { message.load(as: type) }
        // Channels that call this have Sendable messages, and `Any` and `any Sendable` have the same layout.
        return unsafe unsafeBitCast(_openExistential(type, do: box), to: (any Sendable).self)
    }

    // These take only what they need, because passing a layout stored in an object would copy all of it.

    /// - Parameter bytes: How many to copy; nil if copying bytes is not enough.
    private static func copyInFull(
        _ type: Any.Type,
        _ bytes: Int?,
        from source: MessageAddress,
        to target: MessageAddress
    ) {
        func copy<Message>(_ type: Message.Type) { target.initialize(to: source.load(as: type)) }
        if let bytes {
            unsafe target.raw.copyMemory(from: source.raw, byteCount: bytes)
        } else {
            _openExistential(type, do: copy)
        }
    }

    /// - Parameter bytes: How many to copy; nil if copying bytes is not enough.
    private static func moveInFull(
        _ type: Any.Type,
        _ bytes: Int?,
        from source: MessageAddress,
        to target: MessageAddress
    ) {
        func move<Message>(_ type: Message.Type) {
            unsafe target.raw.moveInitializeMemory(as: type, from: source.raw.assumingMemoryBound(to: type), count: 1)
        }
        if let bytes {
            unsafe target.raw.copyMemory(from: source.raw, byteCount: bytes)
        } else {
            _openExistential(type, do: move)
        }
    }

    private static func destroyInFull(_ type: Any.Type, _ message: MessageAddress) {
        func destroy<Message>(_ type: Message.Type) {
            _ = unsafe message.raw.assumingMemoryBound(to: type).deinitialize(count: 1)
        }
        _openExistential(type, do: destroy)
    }
}
