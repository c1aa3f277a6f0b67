/// Who posts a message, from where, and what travels with it. The poster keeps the sender and the actor alive until the
/// post has ended. Together with the message and the list, its five words fill the registers of a call; a sixth would
/// be passed in memory.
@frozen @usableFromInline
struct PostOptions {
    /// The object given as `from:`.
    @usableFromInline let sender: AnyObject?
    /// Whether the sender's own listeners also receive the message.
    @usableFromInline let echo: Bool
    /// The identity of the poster's actor; 0 if there is none.
    @usableFromInline let isolation: UInt
    @usableFromInline let site: PackedSite
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
                // Only compared, never dereferenced.
                unsafe UInt(bitPattern: Unmanaged.passUnretained(actor as AnyObject).toOpaque())
            } ?? 0
        self.site = site
        self.envelope = envelope
    }

    /// Makes a post from the same place with another envelope.
    init(_ post: PostOptions, _ envelope: Envelope?) {
        sender = post.sender
        echo = post.echo
        isolation = post.isolation
        site = post.site
        self.envelope = envelope
    }
}
