internal import CChannels
internal import Synchronization

/// A reference to a thread's record. `@safe` because records are never freed.
@safe
struct ThreadReference: @unchecked Sendable {  // a constant pointer; see the guards of the record
    private let pointer: UnsafeMutablePointer<ThreadRecord>

    @inline(__always)
    private init(_ pointer: UnsafeMutablePointer<ThreadRecord>) { unsafe self.pointer = pointer }

    /// Makes a reference from an address taken from another reference; nil for 0.
    @inline(__always)
    init?(address: UInt) {
        guard let pointer = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: address) else { return nil }
        unsafe self.pointer = pointer
    }

    var pointee: ThreadRecord {
        @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) }
        @inline(__always) nonmutating unsafeMutableAddress { unsafe pointer }
    }

    var address: UInt { unsafe UInt(bitPattern: pointer) }

    @inline(__always)
    static var current: ThreadReference {
        if let record = unsafe channels_get_thread_record() {
            // Set only by `register`, to a record.
            return unsafe ThreadReference(record.assumingMemoryBound(to: ThreadRecord.self))
        }
        return register()
    }

    @inline(never)
    private static func register() -> ThreadReference {
        let record = ThreadRecords.all.take()
        record.pointee.stackEnd = 0
        unsafe channels_set_thread_record(UnsafeMutableRawPointer(record.pointer)) { record in
            // The thread has ended, and so have its posts. This is the record set above.
            ThreadRecords.all.giveBack(unsafe ThreadReference(record!.assumingMemoryBound(to: ThreadRecord.self)))
        }
        return record
    }

    static func make(group: UInt64) -> ThreadReference {
        let record = unsafe ThreadReference(.allocate(capacity: 1))
        unsafe record.pointer.initialize(to: ThreadRecord(group: group))
        return record
    }
}

package enum CurrentThread {
    /// A number, not 0, that no other living thread has.
    package static var number: UInt { ThreadReference.current.address }

    /// Whether the thread is running an instrument, whose own posts are not traced.
    package static var isInInstrument: Bool {
        get { ThreadReference.current.pointee.isInInstrument }
        set { ThreadReference.current.pointee.isInInstrument = newValue }
    }
}
