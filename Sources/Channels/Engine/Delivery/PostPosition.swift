/// Where a post is made: on which thread, and inside how many others.
package struct PostPosition: Hashable, Sendable {
    private let thread: UInt
    private var depth: Int

    /// The position of the innermost post in progress on the calling thread.
    package static var current: PostPosition {
        let thread = ThreadReference.current
        return PostPosition(thread: thread.address, depth: thread.pointee.top?.frameCount ?? 0)
    }

    /// The position of a post made here.
    package static var next: PostPosition {
        var position = current
        position.depth += 1
        return position
    }
}
