/// The frame of a post in progress, as a word. Only delivery, on the floor above, knows its contents. `@safe`
/// because a frame is lent, and linked from its thread's record, only during its post, on one thread.
@safe
@usableFromInline
package struct FrameReference: @unchecked Sendable {  // used by the posting thread only
    let raw: UnsafeMutableRawPointer

    init(_ raw: UnsafeMutableRawPointer) { unsafe self.raw = raw }

    /// The address as a number, for comparing.
    var address: UInt { unsafe UInt(bitPattern: raw) }
}
