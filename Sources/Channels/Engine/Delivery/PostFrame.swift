/// A post in progress: on the stack of the posting thread, and used only there.
@usableFromInline
struct PostFrame {
    /// The post in which this one is nested, whatever its channel.
    var previous: FrameReference?
    private(set) var list: Unretained<ListenerList>
    /// The message. Not set in the frame of a drain or a reader, where each message is passed separately.
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
    /// How many posts of this list are on this thread's stack; on a queued channel, the length of the chain of posts.
    var depth = 1
    /// How many state changes led to this post, including its own if it delivers a state's value.
    var chain = 0
    /// Retained, and released by ``end()``. Not a counted reference, so that a frame without an envelope costs nothing
    /// to make or drop.
    private var envelopeReference: Unretained<Envelope>?
    /// The posts that a queued channel's own listeners have made, and that wait. The first post of a chain keeps the
    /// queue.
    var queue: Unretained<PostQueue>?
    /// The listener being called, or called last, whose site a fault reports. The list keeps it alive until the post
    /// leaves the list, or the drain settles its calls. Both clear this first, because they run user code.
    var listener: Unretained<ListenerEntry>?
    /// Where the reader of an adapted sequence expects its element; nil once the element is there.
    var place: MessageAddress?
    /// Whether every listener goes through all checks: because a sender is excluded, the poster waits, or diagnostics
    /// count.
    var checksAll: Bool
    /// Whether this post delivers a value of a state, whose turn has come.
    var isTurn = false
    /// Whether an interceptor has stopped the message.
    var isStopped = false

    /// - Parameter post: Borrowed, because an initializer would otherwise retain it.
    @inline(__always)
    init(_ list: ListenerList, _ message: MessageAddress = .nowhere, _ post: __shared PostOptions = PostOptions()) {
        // The frame exists only during a call that takes these as parameters, so the caller keeps them alive.
        self.list = Unretained(list)
        self.message = message
        sender = post.sender.map { Unretained($0) }
        isolation = post.isolation
        site = post.site
        excluded = post.echo ? 0 : post.sender.map { Unretained($0).address } ?? 0
        checksAll = excluded != 0 || post.envelope?.tracker != nil
        // Set directly, because the setter of `envelope` would force the frame into memory, to be copied from there.
        envelopeReference = post.envelope.map { Unretained($0) }
        envelopeReference?.retain()
    }

    /// Sets the listener that a drain is about to call, and that listener's list, which may differ from the last one's.
    @inline(__always)
    mutating func beginDrainedCall(of listener: ListenerEntry) {
        self.listener = Unretained(listener)
        // The entry keeps the level alive, and the level the list.
        list = listener.knownLevel.borrow { Unretained($0.list) }
    }

    /// Returns whether the owner's listeners are skipped.
    @inline(__always)
    func excludes(_ owner: Unretained<AnyObject>) -> Bool { excluded == owner.address }

    /// Releases what the frame holds. Called once, when the post has ended.
    @inline(__always)
    mutating func end() { if envelopeReference != nil { envelope = nil } }

    /// Whether a sender or an envelope travels with the message.
    @inline(__always) var carriesMore: Bool { sender != nil || envelopeReference != nil }

    /// The envelope of the message, if it already has one; see also ``ensureEnvelope()``.
    var envelope: Envelope? {
        get { envelopeReference?.object }
        @inline(never) set {
            let former = envelopeReference
            // Balanced in `end`, or when it is replaced.
            envelopeReference = newValue.map { .retaining($0) }
            // Runs user code: the deinits of what it holds.
            former?.release()
        }
    }

    /// Returns the message's envelope; makes one for a post that has only a sender. Nil if nothing travels with the
    /// message.
    mutating func ensureEnvelope() -> Envelope? {
        if let envelope { return envelope }
        // A sender that is being deinitialized is not passed on: a listener might keep it.
        guard let sender = sender?.living else { return nil }
        let made = Envelope(list.borrow { $0.name }, sender: sendable(sender))
        envelope = made
        return made
    }

    /// Returns the envelope that a mailbox must keep with the message; nil if there is nothing to keep.
    mutating func envelopeToKeep(withTracker: Bool) -> Envelope? {
        let envelope = ensureEnvelope()
        guard let envelope, envelope.tracker != nil, !withTracker else { return envelope }
        return envelope.copy(named: envelope.channelName, trace: envelope.trace)
    }

    @inline(__always)
    mutating func lend<Result>(_ body: (FrameReference) -> Result) -> Result {
        unsafe withUnsafeMutablePointer(to: &self) { unsafe body(FrameReference(UnsafeMutableRawPointer($0))) }
    }
}

extension FrameReference {
    var pointee: PostFrame {
        // The frame exists for the whole post: see the type's comment.
        @inline(__always) unsafeAddress { unsafe UnsafePointer(raw.assumingMemoryBound(to: PostFrame.self)) }
        @inline(__always) nonmutating unsafeMutableAddress { unsafe raw.assumingMemoryBound(to: PostFrame.self) }
    }

    // For instruments, which are in another module, where `pointee` would be a call that allocates.

    package var site: PackedSite { pointee.site }

    /// Whether this post delivers a value of a state, whose turn has come.
    package var isTurn: Bool { pointee.isTurn }

    package var origin: MessageOrigin { pointee.envelope?.origin ?? .local }

    package var trace: (any MessageTrace)? { pointee.envelope?.trace }

    /// The object that posts, or whose message was forwarded, unless it is being deinitialized.
    package var livingSender: AnyObject? { pointee.sender?.living ?? pointee.envelope?.sender }

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

    /// The envelope that the listener being called receives with its message.
    @usableFromInline var envelope: Envelope? {
        let message = pointee.ensureEnvelope()
        // The listener's own list, or the poster, keeps the list alive.
        let list = pointee.listener?.borrow { $0.level?.borrow { Unretained($0.list) } }
        return (list ?? pointee.list).borrow { $0.envelope(of: message) }
    }

    /// Reports what a listener threw.
    @usableFromInline @inline(never)
    func report(_ error: any Error) {
        // The frame's caller keeps the list alive, and the list keeps the listener during the post.
        let listener = pointee.listener?.object
        if let listener, !listener.isInterceptor { pointee.envelope?.tracker?.fail(listener, error) }
        let list = listener?.list ?? pointee.list.object
        list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
    }

    /// Applies an interceptor's decision to the message at an address, which is a copy.
    @inlinable
    func apply<Message>(_ interception: Interception<Message>, to message: MessageAddress) {
        switch interception {
        case .continue: break
        case .replace(let other): message.store(other)
        case .stop: stop()
        }
    }

    @usableFromInline
    func stop() { pointee.isStopped = true }
}

/// The messages that wait on a queued channel until the current post has ended. Used by one thread only.
final class PostQueue { var posts = Queue<() -> Void>() }
