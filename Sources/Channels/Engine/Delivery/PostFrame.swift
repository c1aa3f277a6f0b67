/// A post under way: on the stack of the posting thread, and used by that thread only.
@usableFromInline
struct PostFrame {
    /// The post in which this one is nested, whatever its channel.
    var previous: FrameReference?
    private(set) var list: Unretained<ListenerList>
    /// Where the message stands. The frame of a drain or a reader has none: they hand each message over by themselves.
    var message: MessageAddress
    /// The number of the first listener that is too new for the message.
    var number: UInt64 = 0
    /// The object given as `from:`; the caller keeps it alive.
    let sender: Unretained<AnyObject>?
    /// The owner whose listeners are skipped: the sender if `echo` is false.
    let excluded: UInt
    /// The identity of the poster's actor, which the caller keeps alive; 0 if there is none.
    var isolation: UInt
    /// Where the post is written, for those who look at it.
    let site: PackedSite
    /// The number of posts of this list on this thread's stack, including this one. On a queued channel: the
    /// length of the chain that led to this post.
    var depth = 1
    /// How many posts and changes of states led to this post, itself included.
    var chain = 1
    /// What few posts need, made on demand. Released by ``end()``. Separate so that creating and dropping a
    /// frame is free.
    private var extras: Unretained<PostExtras>?
    /// What is to be done for every listener beyond calling it.
    var slowPath: SlowPath
    /// Whether it is a value of a state whose turn has come.
    var isTurn = false
    /// Whether an interceptor has stopped the message.
    var isStopped = false
    /// The listener being called, for the site of a fault. Kept alive by the list while the post is under
    /// way.
    var listener: Unretained<ListenerEntry>?
    /// Where the reader of an adapted sequence expects its element; nil once it is there.
    var place: MessageAddress?

    /// What a post does for every listener beyond calling it.
    enum SlowPath: Sendable {
        case none
        /// Counts the call.
        case counting
        /// Looks at everything: a sender is excluded, somebody waits for the listeners, or the post is traced.
        case all
    }

    /// - Parameter post: Borrowed: as an initialiser's usual parameter it would be retained.
    @inline(__always)
    init(_ list: ListenerList, _ message: MessageAddress = .nowhere, _ post: __shared Post = Post()) {
        // The list, the sender and the actor are parameters of the call during which the frame exists: the
        // caller keeps them alive.
        self.list = Unretained(list)
        self.message = message
        sender = post.sender.map { Unretained($0) }
        isolation = post.isolation
        site = post.site
        excluded = post.echo ? 0 : post.sender.map { Unretained($0).address } ?? 0
        slowPath = excluded != 0 || post.envelope?.tracker != nil ? .all : .none
        if post.envelope != nil { envelope = post.envelope }
    }

    /// The frame of a post that hands what the message of another is for a hub on to that.
    init(forwarding outer: PostFrame, _ message: MessageAddress, to list: ListenerList) {
        self = outer
        self.list = Unretained(list)
        self.message = message
        depth = 1
        isTurn = false
        if slowPath == .counting { slowPath = .none }
        previous = nil
        listener = nil
        extras = nil
        // With its own extras: each frame releases its own.
        if let envelope = outer.envelope { self.envelope = envelope }
    }

    /// The extras, which are made if there are none. Kept until ``end()``.
    @inline(__always)
    mutating func ensureExtras() -> Unretained<PostExtras> {
        if let extras { return extras }
        // Balanced in `end`.
        let made = PostExtras.make()
        extras = made
        return made
    }

    /// Makes a listener the one being called.
    @inline(__always)
    mutating func beginCall(of listener: ListenerEntry) {
        // Kept alive by the list while a post is under way, or by the drain.
        self.listener = Unretained(listener)
    }

    /// Makes a listener the one being called by a drain, whose next call may be of another list's listener.
    @inline(__always)
    mutating func beginDrainedCall(of listener: ListenerEntry) {
        beginCall(of: listener)
        // The entry keeps the level, and that the list.
        list = listener.certainLevel.borrow { Unretained($0.list) }
    }

    /// Whether the post is not for an owner: `echo` is false.
    @inline(__always)
    func excludes(_ owner: Unretained<AnyObject>) -> Bool { excluded == owner.address }

    /// Releases what the frame holds. Called once, when the post has ended.
    @inline(__always)
    mutating func end() { if let extras { PostExtras.giveBack(extras) } }

    @inline(__always) var hasExtras: Bool { extras != nil }

    /// Whether anything travels with the message beyond the message itself.
    @inline(__always) var carriesMore: Bool { sender != nil || hasExtras && envelope != nil }

    /// What travels with the message. Made when a mailbox first needs it.
    var envelope: Envelope? {
        get { extras?.object.envelope }
        set { ensureExtras().object.envelope = newValue }
    }

    /// Where posts made on a queued channel by its own listeners wait.
    var queue: PostQueue? {
        @inline(__always) get { extras?.object.queue }
        set { ensureExtras().object.queue = newValue }
    }

    /// What the call under way threw, if the poster waits.
    var thrown: (any Error)? {
        get { extras?.object.thrown }
        set { if extras != nil || newValue != nil { ensureExtras().object.thrown = newValue } }
    }

    /// What must be kept with a message in a mailbox; nil if nothing.
    mutating func envelopeToKeep(withTracker: Bool) -> Envelope? {
        if let envelope {
            guard envelope.tracker != nil, !withTracker else { return envelope }
            return Envelope(sender: envelope.sender, origin: envelope.origin, tracker: nil, trace: envelope.trace)
        }
        guard let sender = sender?.living else { return nil }
        envelope = Envelope(sender: sendable(sender), origin: .local, tracker: nil)
        return envelope
    }

    /// Lends this frame to what runs inside the post.
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
    var stackDepth: Int {
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
    func listenerThrew(_ error: any Error) {
        if pointee.envelope?.tracker != nil { pointee.thrown = error }
        // The frame's caller keeps the list, and the list keeps the listener while the post is under way.
        let list = pointee.list.object
        list.faults.report(.listenerThrew, list: list, listener: pointee.listener?.object, error: error)
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

    /// The object given as `from:`.
    @usableFromInline
    var sender: AnyObject? { pointee.sender?.object }

    @usableFromInline
    func stop() { pointee.isStopped = true }

    /// Ends the listener whose adaptor runs. It still hears this message, if the adaptor lets it pass.
    @usableFromInline
    func endListener() {
        // The post keeps both.
        guard let listener = pointee.listener?.object else { return }
        pointee.list.object.remove(listener, as: ListenerEntry.closed)
    }
}

/// The messages that wait on a queued channel until the post under way has ended. Used by one thread only.
final class PostQueue {
    struct Waiting { let deliver: (_ queue: PostQueue) -> Void }

    var posts = Queue<Waiting>()
}
