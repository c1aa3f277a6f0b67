/// One post under way: lives on the stack of the posting thread and is read by that thread only.
@usableFromInline
struct PostFrame {
    @usableFromInline typealias Pointer = UnsafeMutablePointer<PostFrame>

    /// The post in which this one is nested, whatever its channel.
    var previous: Pointer?
    private(set) var list: Unmanaged<ListenerList>
    /// The object given as `from:`; the caller holds it.
    let sender: Unmanaged<AnyObject>?
    /// The owner whose listeners are skipped: the sender where `echo` is false.
    let excluded: UnsafeRawPointer?
    /// The identity of the actor whose isolation the poster has; the caller holds it.
    var isolation: UnsafeRawPointer?
    /// How many posts of this list, this one included, stand on this thread's stack. In a queued channel: how long the chain is
    /// that led to this post.
    var depth = 1
    /// What few posts need, made on demand. Released by ``end()``. Kept apart so that the frame is made and dropped for nothing.
    private var extras: Unmanaged<Extras>?
    /// Whether no listener may be called straight from the loop.
    var takesCare: Bool
    /// What an interceptor said of the message.
    @usableFromInline var verdict = Verdict.continue
    /// How many listeners the last forwarder reached.
    var forwardedTo = 0
    /// Which listener is being called, for the site of a fault. Held by the list while the post is under way.
    var listener: Unmanaged<ListenerEntry>?
    @usableFromInline
    enum Verdict: Sendable { case `continue`, stop }

    init(
        list: ListenerList,
        sender: AnyObject?,
        echo: Bool,
        isolation: (any Actor)?,
        envelope: Envelope? = nil
    ) {
        // The list, the sender and the actor are parameters of the call during which the frame exists: their caller holds them.
        self.list = .passUnretained(list)
        self.sender = sender.map { .passUnretained($0) }
        self.isolation = isolation.map { UnsafeRawPointer(addressOf: $0) }
        excluded = echo ? nil : sender.map { UnsafeRawPointer(addressOf: $0) }
        takesCare = excluded != nil || envelope?.tracker != nil
        if envelope != nil { self.envelope = envelope }
    }

    /// The frame of a post that hands the message of another on to the listener of a pattern.
    init(forwarding outer: PostFrame, to list: ListenerList) {
        self = outer
        self.list = .passUnretained(list)
        depth = 1
        previous = nil
        listener = nil
        extras = nil
        // With its own extras: each frame gives up its own.
        if let envelope = outer.envelope { self.envelope = envelope }
    }

    private final class Extras {
        @exclusivity(unchecked) var envelope: Envelope?
        @exclusivity(unchecked) var queue: PostQueue?
        @exclusivity(unchecked) var thrown: (any Error)?
    }

    /// The extras, which are made if there are none.
    private mutating func ensureExtras() -> Extras {
        // The frame counts them until `end`.
        if let extras { return extras.takeUnretainedValue() }
        let made = Extras()
        // Balanced in `end`.
        extras = .passRetained(made)
        return made
    }

    /// Makes a listener the one that is being called.
    @inline(__always)
    mutating func begins(_ listener: ListenerEntry) {
        // Whoever calls it holds it: the list while a post is under way, or the drain.
        self.listener = .passUnretained(listener)
    }

    /// Gives up what the frame holds. To be called once, when the post has ended.
    @inline(__always)
    mutating func end() {
        if let extras { extras.release() }
    }

    /// Whether anything travels with the message beyond the message itself.
    @inline(__always) var carriesMore: Bool { extras != nil || sender != nil }

    /// What travels with the message beyond the message itself. Made when a mailbox first asks for it.
    var envelope: Envelope? {
        get { extras?.takeUnretainedValue().envelope }
        set { ensureExtras().envelope = newValue }
    }

    /// Where posts made on a queued channel by its own listeners wait.
    var queue: PostQueue? {
        @inline(__always) get { extras?.takeUnretainedValue().queue }
        set { ensureExtras().queue = newValue }
    }

    /// What the call under way threw, where somebody waits for the post.
    var thrown: (any Error)? {
        get { extras?.takeUnretainedValue().thrown }
        set { if extras != nil || newValue != nil { ensureExtras().thrown = newValue } }
    }
}

extension UnsafeRawPointer {
    /// The address of an object, which holds nothing: to be compared with others, or used while somebody holds the object.
    @inline(__always)
    init(addressOf object: AnyObject) {
        // Not retained: see above.
        self.init(Unmanaged.passUnretained(object).toOpaque())
    }
}

/// The messages that wait on a queued channel until the post under way has gone round. Used by one thread only.
final class PostQueue {
    @exclusivity(unchecked) var posts: [(depth: Int, deliver: (_ depth: Int, _ queue: PostQueue) -> Void)] = []
    @exclusivity(unchecked) var first = 0

    func next() -> (depth: Int, deliver: (_ depth: Int, _ queue: PostQueue) -> Void)? {
        guard first < posts.count else {
            posts = []
            first = 0
            return nil
        }
        defer { first += 1 }
        return posts[first]
    }
}
