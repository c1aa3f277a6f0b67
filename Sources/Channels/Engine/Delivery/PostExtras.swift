/// What few posts need beyond their frame. Only the posting thread uses it, and keeps one for the next post.
final class PostExtras {
    var envelope: Envelope?
    /// Posts that wait, made on a queued channel by its own listeners.
    var queue: PostQueue?
    /// The error of the current call, if the poster waits.
    var thrown: (any Error)?
    /// Reused memory for what forwarders receive. (An optional value would be copied for each of them.)
    private var posted: MessageAddress?
    private var hasPosted = false

    deinit { posted?.deallocate() }

    /// Takes the thread's spare extras or makes new ones. Balance with ``giveBack(_:)``.
    static func make() -> Unretained<PostExtras> {
        let thread = ThreadReference.current
        // Put there by `giveBack`.
        guard let spare = Unretained<PostExtras>(address: thread.pointee.spareExtras) else {
            return .retaining(PostExtras())
        }
        thread.pointee.spareExtras = 0
        return spare
    }

    /// Empties the extras and keeps them for the next post. Runs user code: the deinits of what is released.
    @inline(never)
    static func giveBack(_ extras: Unretained<PostExtras>) {
        extras.borrow { $0.clear() }
        let thread = ThreadReference.current
        if thread.pointee.spareExtras == 0 { thread.pointee.spareExtras = extras.address } else { extras.release() }
    }

    private func clear() {
        if envelope != nil { envelope = nil }
        if queue != nil { queue = nil }
        if thrown != nil { thrown = nil }
        guard hasPosted, let posted else { return }
        hasPosted = false
        _ = posted.move(as: Posted<any Sendable>.self)
    }

    /// Returns the message as forwarders receive it. Made once, and kept until the post has ended.
    @inline(__always)
    func posted(_ frame: FrameReference) -> MessageAddress {
        if hasPosted, let posted { return posted }
        return makePosted(frame)
    }

    @inline(never)
    private func makePosted(_ frame: FrameReference) -> MessageAddress {
        let place = posted ?? MessageLayout(Posted<any Sendable>.self).allocate()
        posted = place
        place.initialize(to: Posted(frame.boxedMessage, PostContext(frame, in: frame.pointee.list)))
        hasPosted = true
        return place
    }
}

extension FrameReference {
    var boxedMessage: any Sendable { pointee.list.borrow { $0.layout.boxed(pointee.message) } }

    @inline(__always)
    var posted: MessageAddress { pointee.ensureExtras().borrow { $0.posted(self) } }
}
