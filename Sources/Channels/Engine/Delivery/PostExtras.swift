/// What few posts need beyond their frame.
///
/// Used by the posting thread only, which keeps one for the next post that needs it.
final class PostExtras {
    var envelope: Envelope?
    /// Where posts made on a queued channel by its own listeners wait.
    var queue: PostQueue?
    /// What the call under way threw, if the poster waits.
    var thrown: (any Error)?
    /// What the message is for forwarders.
    @safe @exclusivity(unchecked) private var translation = Translation()
    /// What the message is for the forwarder being called, where it is different for each.
    @safe @exclusivity(unchecked) private var translationForOne = Translation()

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
        translation.clear()
        translationForOne.clear()
    }

    /// What a message is for a forwarder; nil if it skips it.
    @inline(__always)
    func translated(_ message: MessageAddress, _ frame: FrameReference, by forwarder: Forwarder) -> MessageAddress? {
        if forwarder.translatesForAll, let known = translation.message { return known }
        return translate(message, frame, by: forwarder)
    }

    @inline(never)
    private func translate(
        _ message: MessageAddress,
        _ frame: FrameReference,
        by forwarder: Forwarder
    ) -> MessageAddress? {
        let context = PostContext(frame)
        return frame.pointee.list.borrow { list in
            forwarder.translatesForAll
                ? forwarder.translate(message, context, of: list, into: &translation)
                : forwarder.translate(message, context, of: list, into: &translationForOne)
        }
    }
}
