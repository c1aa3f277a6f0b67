/// Who posts a message, from where, and what travels with it.
///
/// Whoever posts keeps the sender and the actor alive until the post has ended. With the message and the list, its five
/// words fill the registers that a call has: a sixth would go by way of memory.
@frozen @usableFromInline
struct Post {
    /// The object given as `from:`.
    @usableFromInline let sender: AnyObject?
    /// Whether the sender's own listeners hear the message, too.
    @usableFromInline let echo: Bool
    /// The identity of the poster's actor; 0 if there is none.
    @usableFromInline let isolation: UInt
    /// Where the post is written, for those who look at it.
    @usableFromInline let site: PackedSite
    /// What travels with the message beyond a sender.
    @usableFromInline let envelope: Envelope?

    @inlinable @inline(__always)
    init(
        from sender: AnyObject? = nil,
        echo: Bool = true,
        isolation: (any Actor)? = nil,
        at site: PackedSite = .unknown,
        _ envelope: Envelope? = nil
    ) {
        self.sender = sender
        self.echo = echo
        self.isolation =
            isolation.map { actor in
                // A number that is compared only: nobody reads at it.
                unsafe UInt(bitPattern: Unmanaged.passUnretained(actor as AnyObject).toOpaque())
            } ?? 0
        self.site = site
        self.envelope = envelope
    }

    /// A post from the same place that carries something else.
    init(_ post: Post, _ envelope: Envelope?) {
        sender = post.sender
        echo = post.echo
        isolation = post.isolation
        site = post.site
        self.envelope = envelope
    }
}
