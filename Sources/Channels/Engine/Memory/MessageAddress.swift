// Memory: how values are kept and copied, and closures called, without their types; and the two locks.
//
// The engine is not generic: a message is an address with a layout, an object is an uncounted reference, and a post's
// frame is one word. Code that knows the type (a form of `listen` or `post`) makes the closures that read them. Nothing
// here knows what a listener is. Most unsafe constructs are in these files; `Decisions/UnsafeRooms.md` names the
// others. `SpinLock` is for critical sections of a few dozen of our own instructions, `Locked` for longer ones; neither
// is held while user code runs. Every layer above may use this one.

/// The address of a message whose type the reader knows. `@safe` because nothing but that message is ever at
/// the address, and because the lender keeps the memory in place while it is used.
@safe
@frozen @usableFromInline
struct MessageAddress: @unchecked Sendable {  // a constant; whoever lends it says who may use it
    @usableFromInline let raw: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    init(_ raw: UnsafeMutableRawPointer) { unsafe self.raw = raw }

    static var nowhere: MessageAddress {
        // Not 0, and nothing is ever read there.
        unsafe MessageAddress(UnsafeMutableRawPointer(bitPattern: 1).unsafelyUnwrapped)
    }

    /// Lends the address of a value, for reading.
    @inlinable @inline(__always)
    static func lending<Message, Result>(
        _ message: borrowing Message,
        _ body: (MessageAddress) -> Result
    ) -> Result {
        unsafe withUnsafePointer(to: message) {
            // Never written: interceptors and mailboxes work on copies.
            unsafe body(MessageAddress(UnsafeMutableRawPointer(mutating: $0)))
        }
    }

    /// Lends the address of a variable, for reading and writing.
    @inlinable @inline(__always)
    static func lending<Value, Result>(mutable value: inout Value, _ body: (MessageAddress) -> Result) -> Result {
        unsafe withUnsafeMutablePointer(to: &value) { unsafe body(MessageAddress(UnsafeMutableRawPointer($0))) }
    }

    /// Lends memory for one value. Returns the value if the body returned true, after initializing it.
    @inlinable @inline(__always)
    static func receiving<Value>(as type: Value.Type, _ body: (MessageAddress) -> Bool) -> Value? {
        unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { place in
            // The allocation has one element, which is initialized if the body returns true.
            unsafe body(MessageAddress(UnsafeMutableRawPointer(place.baseAddress.unsafelyUnwrapped)))
                ? place.moveElement(from: 0) : nil
        }
    }

    /// Lends memory for one value, which the body must initialize, and returns that value.
    @inlinable @inline(__always)
    static func filling<Value>(as type: Value.Type, _ body: (MessageAddress) -> Void) -> Value {
        unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { place in
            // The allocation has one element, which the body has initialized.
            unsafe body(MessageAddress(UnsafeMutableRawPointer(place.baseAddress.unsafelyUnwrapped)))
            return unsafe place.moveElement(from: 0)
        }
    }

    @inlinable @inline(__always)
    func load<Message>(as type: Message.Type) -> Message {
        unsafe raw.assumingMemoryBound(to: Message.self).pointee
    }

    /// Lends the message in place, neither copied nor retained.
    @inlinable @inline(__always)
    func lend<Message, Result>(as type: Message.Type, _ body: (borrowing Message) -> Result) -> Result {
        unsafe borrowing(raw.assumingMemoryBound(to: Message.self), body)
    }

    @inlinable @inline(__always)
    func store<Message>(_ message: Message) {
        unsafe raw.assumingMemoryBound(to: Message.self).pointee = message
    }

    @inlinable @inline(__always)
    func swap<Message>(with other: inout Message) {
        unsafe Swift.swap(&raw.assumingMemoryBound(to: Message.self).pointee, &other)
    }

    @inlinable @inline(__always)
    func mutate<Message, Result, Failure: Error>(
        as type: Message.Type,
        _ body: (inout Message) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(&raw.assumingMemoryBound(to: Message.self).pointee)
    }

    /// Initializes memory that holds no message.
    @inlinable @inline(__always)
    func initialize<Message>(to message: consuming Message) {
        unsafe raw.initializeMemory(as: Message.self, to: message)
    }

    /// Moves the message out, which leaves the memory uninitialized.
    @inline(__always)
    func move<Message>(as type: Message.Type) -> Message {
        unsafe raw.assumingMemoryBound(to: Message.self).move()
    }

    /// Copies the bytes of a value to new memory, without retaining. Free it with ``deallocate()``.
    static func allocateBytes<Value>(of value: Value) -> MessageAddress {
        let size = MemoryLayout<Value>.size
        let alignment = MemoryLayout<Value>.alignment
        let place = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: alignment)
        unsafe withUnsafePointer(to: value) { unsafe place.copyMemory(from: $0, byteCount: size) }
        return unsafe MessageAddress(place)
    }

    /// Frees memory from `MessageLayout.allocate` or ``allocateBytes(of:)`` that no longer holds a message.
    func deallocate() { unsafe raw.deallocate() }
}

/// Lends the value at an address, as a parameter, so that the compiler borrows it instead of retaining a copy.
@inlinable @inline(__always)
func borrowing<Value: ~Copyable, Result>(_ address: UnsafePointer<Value>, _ body: (borrowing Value) -> Result) -> Result
{
    unsafe body(address.pointee)
}
