internal import CChannels
internal import Synchronization

/// One registration in a list: what is called, for whom, and its place. Where there is an owner, it is the
/// token, too, and may be kept long after it has left the list.
///
/// `word`, `next` and `countersAddress` are atomic. `level`, `previous` and the links are guarded by the
/// list's lock; `previous` links retired entries once the entry is out of the chain. `body` is replaced once,
/// after the last post that could read it has ended (`ListenerList+Reclaim`). The rest is constant. 88 bytes:
/// the size is a promise, see `Decisions/ListenerList.md`.
@usableFromInline
final class ListenerEntry: ListenerToken, @unchecked Sendable {  // guards: see above
    // Bits of `word` above the registration number. A post compares the word with the number at which it
    // began: one comparison says that a listener is old enough and needs no special treatment.
    static let cancelled: UInt64 = 1 << 63
    /// No message reaches it any more, but what waits in its mailbox is delivered: the channel was
    /// deallocated, or it was `once`.
    static let closed: UInt64 = 1 << 62
    static let paused: UInt64 = 1 << 61
    /// Its calls are counted without diagnostics, too, and without an atomic addition: only for listeners that are called
    /// one at a time.
    static let counted: UInt64 = 1 << 60
    /// Has an owner, held weakly.
    static let owned: UInt64 = 1 << 59
    static let once: UInt64 = 1 << 58
    /// The body is a `ListenerCall`; without this bit, a bare `Body1` or, with an owner, `Body2`.
    static let general: UInt64 = 1 << 57
    /// Hands messages on to the listener of another list.
    static let forwards: UInt64 = 1 << 56
    /// Has a mailbox.
    static let waits: UInt64 = 1 << 55
    /// Is asked about each message before any listener hears it.
    static let intercepts: UInt64 = 1 << 54
    /// Hears what its ``Adaptor`` makes of a message.
    static let adapts: UInt64 = 1 << 53
    static let ended = cancelled | closed
    /// The other bits are all in use.
    static let number: UInt64 = (1 << 53) - 1
    /// The bits that say how a message is delivered to it.
    static let treatment = ~(number | owned | general)

    /// The registration number and the bits above it.
    let word: Atomic<UInt64>
    /// The next listener in the order of delivery, or 0. Written under the list's lock.
    let next = Atomic<UInt>(0)
    /// The address of the listener before it, or 0.
    @safe @exclusivity(unchecked) var previous: UInt = 0
    @safe @exclusivity(unchecked) var body: ListenerBody
    @safe @exclusivity(unchecked) weak var owner: AnyObject?
    /// What is counted, or the mailbox: retained, and released in `deinit`. Set once, at the latest when the listener is
    /// first paused or counted: nothing in it may rely on having been there from the start.
    let countersAddress: Atomic<UInt>
    let site: PackedSite
    /// Set once, when the entry is inserted; nil if it never was. Retained, and released in `deinit`: keeps
    /// the list alive for the token.
    @safe @exclusivity(unchecked) var level: Unretained<PriorityLevel>?

    /// - Parameter counters: A mailbox or a forwarder if the bits say so.
    init(bits: UInt64, owner: AnyObject?, counters: ListenerCounters?, site: PackedSite, call: BareCall) {
        word = Atomic(bits)
        body = ListenerBody(call)
        self.owner = owner
        countersAddress = Atomic(counters.map { Unretained.retaining($0).address } ?? 0)
        self.site = site
    }

    /// Not inlined: inlined into what frees the memory, it retains and releases the entry once more.
    @inline(never)
    deinit {
        level?.release()
        counters?.release()
    }

    override var entry: ListenerEntry { self }

    /// The token to hand out, once for each registration.
    func makeToken() -> ListenerToken { hasOwner ? self : OwningToken(self) }

    /// Ends the listener; what waits in its mailbox is discarded.
    override func cancel() {
        // The entry keeps the level, and that the list.
        level?.borrow { $0.list.cancel(self) }
    }

    override var isPaused: Bool { word.load(ordering: .acquiring) & Self.paused != 0 }

    override func pause() {
        _ = ensureCounters()
        word.bitwiseOr(Self.paused, ordering: .sequentiallyConsistent)
    }

    override func resume() {
        guard isPaused, list?.delegate?.resume(self) != true else { return }
        word.bitwiseAnd(~Self.paused, ordering: .sequentiallyConsistent)
    }
}

extension ListenerEntry {
    /// Kept by the entry until its `deinit`.
    @inline(__always)
    var counters: Unretained<ListenerCounters>? { Unretained(address: countersAddress.load(ordering: .acquiring)) }

    /// The owner, retained: to be given up with ``Unretained/release()``. Written as one expression, which
    /// the compiler makes one load of the weak reference and nothing else.
    @inline(__always)
    var retainedOwner: Unretained<AnyObject>? {
        channels_will_load_weakly()
        return owner.map { Unretained.retaining($0) }
    }

    /// The level of a listener that is known to have been inserted: nobody else hears anything.
    @inline(__always)
    var certainLevel: Unretained<PriorityLevel> {
        // It is set when the entry is inserted, and never cleared.
        level!
    }

    /// The adaptor of a listener with the bit ``adapts``.
    @inline(__always)
    var certainAdaptor: Unretained<Adaptor> {
        // Made with the entry, which keeps the counters, and those the adaptor.
        Unretained<ListenerCounters>(certain: countersAddress.load(ordering: .relaxed))
            .borrow { Unretained(certain: $0.adaptorAddress) }
    }

    /// The list it was put into; nil if it never was.
    var list: ListenerList? { level?.object.list }

    /// An entry's address, as stored in the links.
    var address: UInt { Unretained(self).address }

    /// Whether no message reaches it any more. An orphan has not ended until it is found.
    var hasEnded: Bool { word.load(ordering: .acquiring) & Self.ended != 0 }

    /// Whether what waits for it is to be discarded.
    var isCancelled: Bool { word.load(ordering: .sequentiallyConsistent) & Self.cancelled != 0 }

    /// Whether it belongs to an object, not to its token.
    var hasOwner: Bool { word.load(ordering: .relaxed) & Self.owned != 0 }

    /// Whether the owner was deallocated.
    var isOrphan: Bool { hasOwner && owner == nil }

    /// The number of its registration: the later the higher.
    @inline(__always)
    var number: UInt64 { word.load(ordering: .acquiring) & Self.number }

    var isInterceptor: Bool { word.load(ordering: .relaxed) & Self.intercepts != 0 }

    var isForwarder: Bool { word.load(ordering: .relaxed) & Self.forwards != 0 }

    var isGeneral: Bool { word.load(ordering: .relaxed) & Self.general != 0 }

    /// Calls the listener. The caller holds the owner, if it has one.
    @inline(__always)
    func run(_ message: MessageAddress, _ owner: OwnerReference?, _ frame: FrameReference) {
        body.call(message, owner, frame, isBare: !isGeneral)
    }

    /// Called once no post can see the entry any more.
    func hasLeft() {
        if counters?.borrow({ $0.takesOverBody(of: self) }) != true { freeBody() }
    }

    /// Frees the closure's captures. No post and no mailbox uses it any more.
    func freeBody() {
        body = ListenerBody(.nothing)
        counters?.borrow { $0.bodyIsFree() }
    }
}

// MARK: - Counting

extension ListenerEntry {
    /// Gives a listener a place to count, if it has none. It keeps it.
    @inline(__always)
    func ensureCounters() -> Unretained<ListenerCounters> { counters ?? makeCounters() }

    @inline(never)
    private func makeCounters() -> Unretained<ListenerCounters> {
        let made = Unretained.retaining(ListenerCounters())
        let (exchanged, known) = countersAddress.compareExchange(
            expected: 0,
            desired: made.address,
            ordering: .acquiringAndReleasing
        )
        if exchanged { return made }
        made.release()
        // Another thread has set it meanwhile, and it stays.
        return Unretained(address: known)!
    }

    /// What became of its messages, if they are counted.
    var accounts: ListenerAccounts? {
        counters?.borrow { counters in
            counters.accounts(countsCalls: word.load(ordering: .relaxed) & Self.counted != 0 || list?.isMetered == true)
        }
    }
}
