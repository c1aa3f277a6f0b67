internal import Synchronization

/// What a list calls for a message: the message's address, the owner's (nil for a token-owned listener), and the post under way.
@usableFromInline
typealias ListenerCall = @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer?, PostFrame.Pointer) -> Void

/// One registration in a list: what is called, for whom, and where it stands.
///
/// `word` and `next` are atomic. `lane`, `previous` and the links are guarded by the list's lock; `previous` links retired entries
/// once the entry is out of the chain. `body` is replaced once, after the last post that could read it has ended (`ListenerList+Reclaim`).
/// The rest is constant. 88 bytes: what a listener costs is a promise, see `Decisions/ListenerList.md`.
@usableFromInline
final class ListenerEntry: @unchecked Sendable {  // guards: see above
    // Bits of `word` above the registration number. A post compares the word with the number at which it began: one comparison says
    // that a listener is old enough and that nothing special is the matter with it.
    static let cancelled: UInt64 = 1 << 63
    /// No message reaches it any more, but what waits in its mailbox is delivered: the channel has gone, or it was `once`.
    static let closed: UInt64 = 1 << 62
    static let paused: UInt64 = 1 << 61
    /// Has a mailbox, or is counted.
    static let special: UInt64 = 1 << 60
    /// Has an owner, held weakly.
    static let owned: UInt64 = 1 << 59
    static let once: UInt64 = 1 << 58
    /// The body is a `ListenerCall`; without this bit, a bare `Body1` or, with an owner, `Body2`.
    static let general: UInt64 = 1 << 57
    /// Hands messages on to the listener of a pattern.
    static let forwards: UInt64 = 1 << 56
    static let ended = cancelled | closed
    static let number: UInt64 = (1 << 56) - 1

    /// The registration number and the bits above.
    let word: Atomic<UInt64>
    /// The next listener in the order of delivery, or 0. Written under the list's lock.
    let next = Atomic<UInt>(0)
    /// The address of the listener before it, or 0.
    @exclusivity(unchecked) var previous: UInt = 0
    @exclusivity(unchecked) var body: ListenerBody
    weak let owner: AnyObject?
    /// Counted, and given back in `deinit`: read by posts without another count.
    let mailboxReference: Unmanaged<Mailbox>?
    let site: PackedSite
    /// Set once, when the entry is put in; nil if it never was. Counted, and given back in `deinit`: keeps the list for the token.
    @exclusivity(unchecked) var laneReference: Unmanaged<Lane>?

    init(bits: UInt64, owner: AnyObject?, mailbox: Mailbox?, site: PackedSite, call: BareCall) {
        word = Atomic(bits)
        body = ListenerBody(call)
        self.owner = owner
        mailboxReference = mailbox.map { .passRetained($0) }  // see above
        self.site = site
    }

    deinit {
        laneReference?.release()
        mailboxReference?.release()
    }
}

extension ListenerEntry {
    // Counted by the entry until its `deinit`.
    var lane: Lane? { laneReference?.takeUnretainedValue() }

    // Counted by the entry until its `deinit`.
    var mailbox: Mailbox? { mailboxReference?.takeUnretainedValue() }

    /// An entry's address, as the links have it.
    var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

    /// Whether messages still reach it.
    var isActive: Bool { word.load(ordering: .acquiring) & Self.ended == 0 }

    /// Whether what waits for it is to be discarded.
    var isCancelled: Bool { word.load(ordering: .acquiring) & Self.cancelled != 0 }

    /// Whether it belongs to an object, rather than to its token.
    var hasOwner: Bool { word.load(ordering: .relaxed) & Self.owned != 0 }

    var isForwarder: Bool { word.load(ordering: .relaxed) & Self.forwards != 0 }

    /// Ends the listener; what waits in its mailbox is discarded.
    func cancel() {
        // The entry holds the lane.
        laneReference?._withUnsafeGuaranteedRef { lane in
            if !lane.list.remove(self), word.load(ordering: .relaxed) & Self.cancelled == 0 {
                word.bitwiseOr(Self.cancelled, ordering: .sequentiallyConsistent)
            }
            if let mailbox { mailbox.discardWaiting(of: self) }
        }
    }

    var isPaused: Bool { word.load(ordering: .acquiring) & Self.paused != 0 }

    func pause() {
        word.bitwiseOr(Self.paused, ordering: .sequentiallyConsistent)
    }

    func resume() {
        guard isPaused else { return }
        if let onResume = lane?.list.onResume {
            onResume(self)
        } else {
            word.bitwiseAnd(~Self.paused, ordering: .sequentiallyConsistent)
        }
    }

    /// Called once no post can see the entry any more.
    func hasLeft() {
        if let mailbox { mailbox.listenerHasLeft(self) } else { freeBody() }
    }

    /// Frees what the closure holds. No post and no mailbox uses it any more.
    func freeBody() {
        body = .empty
        mailbox?.freeAsyncCall()
    }
}
