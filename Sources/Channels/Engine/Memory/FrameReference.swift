/// A one-word reference to the frame of a post in progress. Only the delivery layer above knows its contents. `@safe`
/// because a frame is lent, and linked from its thread's record, only during its post and on one thread.
@safe
@usableFromInline
package struct FrameReference: @unchecked Sendable {  // used by the posting thread only
    let raw: UnsafeMutableRawPointer

    init(_ raw: UnsafeMutableRawPointer) { unsafe self.raw = raw }

    var address: UInt { unsafe UInt(bitPattern: raw) }
}
