/// What few posts need beyond their frame.
///
/// Used by the posting thread only, which keeps one for the next post that needs it.
final class PostExtras {
    var envelope: Envelope?
    /// Where posts made on a queued channel by its own listeners wait.
    var queue: PostQueue?
    /// What the call under way threw, if the poster waits.
    var thrown: (any Error)?
    /// Where what the message is for forwarders stands: memory that is used again, made when one first asks. (An
    /// optional value here would be copied for each of them.)
    private var posted: MessageAddress?
    private var hasPosted = false

    deinit { posted?.deallocate() }

    /// To be given back.
    static func make() -> Unretained<PostExtras> {
        let thread = ThreadReference.current
        // Put there by `giveBack`.
        guard let spare = Unretained<PostExtras>(address: thread.pointee.spareExtras) else {
            return .retaining(PostExtras())
        }
        thread.pointee.spareExtras = 0
        return spare
    }

    /// Empties what was made, and keeps it for the next post. Runs user code: the deinit of what is released.
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
        guard hasPosted else { return }
        hasPosted = false
        _ = posted?.move(as: Posted<any Sendable>.self)
    }

    /// What the message of a post is for forwarders: made once. It is there until the post has ended.
    @inline(__always)
    func posted(_ frame: FrameReference) -> MessageAddress {
        if hasPosted, let posted { return posted }
        return makePosted(frame)
    }

    @inline(never)
    private func makePosted(_ frame: FrameReference) -> MessageAddress {
        let place = posted ?? MessageLayout(Posted<any Sendable>.self).allocate()
        posted = place
        place.initialize(to: Posted(frame.boxedMessage, PostContext(frame)))
        hasPosted = true
        return place
    }
}

extension FrameReference {
    /// The message of the post, copied.
    var boxedMessage: any Sendable { pointee.list.borrow { $0.layout.boxed(pointee.message) } }

    /// What the message of the post is for forwarders. It is there until the post has ended.
    @inline(__always)
    var posted: MessageAddress { pointee.ensureExtras().borrow { $0.posted(self) } }
}
