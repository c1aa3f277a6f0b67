/// The frame of a post under way, as a word. Only delivery, on the floor above, knows what is in it.
///
/// `@safe` because a frame is lent, and linked from its thread's record, only between the begin and the end
/// of its post, on one thread.
@safe
@usableFromInline
struct FrameReference: @unchecked Sendable {  // used by the posting thread only
    let raw: UnsafeMutableRawPointer

    @inline(__always)
    init(_ raw: UnsafeMutableRawPointer) { unsafe self.raw = raw }
}
