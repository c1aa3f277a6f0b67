/// How messages of a type are kept in memory, for code that does not know the type.
struct MessageLayout: Sendable {
    let type: any Any.Type
    let size: Int
    /// The size of a value in an array.
    let stride: Int
    let alignment: Int
    /// Whether a copy is a copy of the bytes and there is nothing to destroy.
    let isTrivial: Bool
    /// Of how many words it consists, if it is trivial and one word or two, as most small messages are;
    /// otherwise 0.
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

    // MARK: Memory for one message

    /// Memory on the heap, which holds no message yet. Freed with ``MessageAddress/deallocate()``.
    func allocate() -> MessageAddress {
        unsafe MessageAddress(.allocate(byteCount: max(stride, 1), alignment: alignment))
    }

    /// Lends memory on the stack, which holds no message yet and must hold none when the body returns.
    @inline(__always)
    func withTemporary<Result>(_ body: (MessageAddress) -> Result) -> Result {
        unsafe withUnsafeTemporaryAllocation(byteCount: max(stride, 1), alignment: alignment) {
            // Not empty, see above.
            unsafe body(MessageAddress($0.baseAddress.unsafelyUnwrapped))
        }
    }

    // MARK: Messages of this layout

    @inline(__always)
    func copy(from source: MessageAddress, to target: MessageAddress) {
        if words > 0 {
            copyWords(from: source, to: target)
        } else {
            Self.copyInFull(type, isTrivial ? size : nil, from: source, to: target)
        }
    }

    /// Leaves the source without a message.
    @inline(__always)
    func move(from source: MessageAddress, to target: MessageAddress) {
        if words > 0 {
            copyWords(from: source, to: target)
        } else {
            Self.moveInFull(type, isTrivial ? size : nil, from: source, to: target)
        }
    }

    @inline(__always)
    private func copyWords(from source: MessageAddress, to target: MessageAddress) {
        let second = MemoryLayout<UInt>.stride
        unsafe target.raw.storeBytes(of: source.raw.load(as: UInt.self), as: UInt.self)
        guard words > 1 else { return }
        let word = unsafe source.raw.load(fromByteOffset: second, as: UInt.self)
        unsafe target.raw.storeBytes(of: word, toByteOffset: second, as: UInt.self)
    }

    @inline(__always)
    func destroy(_ message: MessageAddress) { if !isTrivial { Self.destroyInFull(type, message) } }

    /// A copy of a message in an existential.
    ///
    /// Messages of channels that have a name are Sendable, which leaves no trace in the layout of an
    /// existential: `Any` and `any Sendable` are the same.
    func boxed(_ message: MessageAddress) -> any Sendable {
        func box<Message>(_ type: Message.Type) -> Any { message.load(as: type) }
        // The message is Sendable, and the two existentials have one layout.
        return unsafe unsafeBitCast(_openExistential(type, do: box), to: (any Sendable).self)
    }

    // Given what they need, and not a layout: to hand on one that is part of an object, all of it is copied, also
    // where they are not called.

    /// - Parameter bytes: How many there are to copy; nil if that is not enough.
    @inline(never)
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

    /// - Parameter bytes: How many there are to copy; nil if that is not enough.
    @inline(never)
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

    @inline(never)
    private static func destroyInFull(_ type: Any.Type, _ message: MessageAddress) {
        func destroy<Message>(_ type: Message.Type) {
            _ = unsafe message.raw.assumingMemoryBound(to: type).deinitialize(count: 1)
        }
        _openExistential(type, do: destroy)
    }
}
