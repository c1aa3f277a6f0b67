/// A post in progress: on the stack of the posting thread, and used only there.
@usableFromInline
struct PostFrame {
    /// The post in which this one is nested, whatever its channel.
    var previous: FrameReference?
    private(set) var list: Unretained<ListenerList>
    /// The frame of a drain or a reader has none: each message is passed separately.
    var message: MessageAddress
    /// The number of the first listener that is too new for the message.
    var number: UInt64 = 0
    /// The object given as `from:`; the caller keeps it alive.
    let sender: Unretained<AnyObject>?
    /// The owner whose listeners are skipped: the sender if `echo` is false.
    let excluded: UInt
    /// The identity of the poster's actor, which the caller keeps alive; 0 if there is none.
    var isolation: UInt
    let site: PackedSite
    /// The number of this list's posts on this thread's stack; on a queued channel, the length of the chain.
    var depth = 1
    /// How many changes of states led to this post; to a value, itself included.
    var chain = 0
    /// Made on demand and released by ``end()``. Separate, so that creating and dropping a frame is free.
    private var extras: Unretained<PostExtras>?
    /// Whether every listener is checked for everything: a sender is excluded, the poster waits, or somebody counts.
    var checksAll: Bool
    /// Whether it is a value of a state whose turn has come.
    var isTurn = false
    /// Whether an interceptor has stopped the message.
    var isStopped = false
    /// The listener being called, for the site of a fault. Kept alive by the list while the post is under
    /// way.
    var listener: Unretained<ListenerEntry>?
    /// Where the reader of an adapted sequence expects its element; nil once it is there.
    var place: MessageAddress?

    /// - Parameter post: Borrowed; an initialiser would otherwise retain it.
    @inline(__always)
    init(_ list: ListenerList, _ message: MessageAddress = .nowhere, _ post: __shared PostOptions = PostOptions()) {
        // The frame exists during a call with these as parameters, whose caller keeps them alive.
        self.list = Unretained(list)
        self.message = message
        sender = post.sender.map { Unretained($0) }
        isolation = post.isolation
        site = post.site
        excluded = post.echo ? 0 : post.sender.map { Unretained($0).address } ?? 0
        checksAll = excluded != 0 || post.envelope?.tracker != nil
        if post.envelope != nil { envelope = post.envelope }
    }

    @inline(__always)
    mutating func ensureExtras() -> Unretained<PostExtras> {
        if let extras { return extras }
        // Balanced in `end`.
        let made = PostExtras.make()
        extras = made
        return made
    }

    @inline(__always)
    mutating func beginCall(of listener: ListenerEntry) {
        // Kept alive by the list during a post, or by the drain.
        self.listener = Unretained(listener)
    }

    /// Sets the listener being called by a drain, and its list, which may have changed.
    @inline(__always)
    mutating func beginDrainedCall(of listener: ListenerEntry) {
        beginCall(of: listener)
        // The entry keeps the level alive, and the level the list.
        list = listener.knownLevel.borrow { Unretained($0.list) }
    }

    /// Returns whether the owner's listeners are skipped.
    @inline(__always)
    func excludes(_ owner: Unretained<AnyObject>) -> Bool { excluded == owner.address }

    /// Releases what the frame holds. Called once, when the post has ended.
    @inline(__always)
    mutating func end() { if let extras { PostExtras.giveBack(extras) } }

    @inline(__always) var hasExtras: Bool { extras != nil }

    @inline(__always) var hasQueue: Bool { extras?.borrow { $0.queue != nil } ?? false }

    /// Whether anything travels with the message.
    @inline(__always) var carriesMore: Bool { sender != nil || hasExtras && envelope != nil }

    /// Made when a mailbox first needs it.
    var envelope: Envelope? {
        get { extras?.object.envelope }
        set { ensureExtras().object.envelope = newValue }
    }

    var queue: PostQueue? {
        @inline(__always) get { extras?.object.queue }
        set { ensureExtras().object.queue = newValue }
    }

    var thrown: (any Error)? {
        get { extras?.object.thrown }
        set { if extras != nil || newValue != nil { ensureExtras().object.thrown = newValue } }
    }

    /// Returns what must be kept with a message in a mailbox; nil if nothing.
    mutating func envelopeToKeep(withTracker: Bool) -> Envelope? {
        if let envelope {
            guard envelope.tracker != nil, !withTracker else { return envelope }
            return Envelope(envelope, sender: envelope.sender, tracker: nil, trace: envelope.trace)
        }
        guard let sender = sender?.living else { return nil }
        envelope = Envelope(sender: sendable(sender), origin: .local, tracker: nil)
        return envelope
    }

    @inline(__always)
    mutating func lend<Result>(_ body: (FrameReference) -> Result) -> Result {
        unsafe withUnsafeMutablePointer(to: &self) { unsafe body(FrameReference(UnsafeMutableRawPointer($0))) }
    }
}

extension FrameReference {
    var pointee: PostFrame {
        // The frame exists for the whole post, see the type's comment.
        @inline(__always) unsafeAddress { unsafe UnsafePointer(raw.assumingMemoryBound(to: PostFrame.self)) }
        @inline(__always) nonmutating unsafeMutableAddress { unsafe raw.assumingMemoryBound(to: PostFrame.self) }
    }

    /// How many posts are on the thread's stack, this one included.
    ///
    /// - Complexity: O(*n*) in their number.
    var frameCount: Int {
        var count = 0
        var frame: FrameReference? = self
        while let post = frame {
            count += 1
            frame = post.pointee.previous
        }
        return count
    }

    /// Reports what a listener threw.
    @usableFromInline @inline(never)
    func report(_ error: any Error) {
        if pointee.envelope?.tracker != nil { pointee.thrown = error }
        // The frame's caller keeps the list alive, and the list keeps the listener during the post.
        let listener = pointee.listener?.object
        let list = listener?.list ?? pointee.list.object
        list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
    }

    /// Applies an interceptor's verdict to the message at an address, which is a copy.
    @inlinable
    func apply<Message>(_ interception: Interception<Message>, to message: MessageAddress) {
        switch interception {
        case .continue: break
        case .replace(let other): message.store(other)
        case .stop: stop()
        }
    }

    @usableFromInline
    var sender: AnyObject? { pointee.sender?.object }

    @usableFromInline
    func stop() { pointee.isStopped = true }
}

/// The messages that wait on a queued channel until the current post has ended. Used by one thread only.
final class PostQueue {
    struct Waiting { let deliver: (_ queue: PostQueue) -> Void }

    var posts = Queue<Waiting>()
}
