internal import Synchronization

/// What a listener needs beyond its entry: counts and, in subclasses, a mailbox or the list it forwards to.
@usableFromInline
class ListenerCounters: @unchecked Sendable {  // a constant, and atomics
    let responderCalls: ResponderCalls?
    /// Of an entry with the bit ``ListenerEntry/adapts``.
    /// Released with the closure, after the last post that could read it has ended.
    @safe @exclusivity(unchecked) private var adaptor: Adaptor?
    /// The address of the adaptor, which this keeps; 0 if there is none.
    let adaptorAddress: UInt
    /// Calls that no drain made: by posts, notifications and requests. Those of a listener without a mailbox are
    /// counted while diagnostics are on.
    let directCalls = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    /// The address of ``record``, retained, or 0. Set once.
    private let recordAddress = Atomic<UInt>(0)

    init(responderCalls: ResponderCalls? = nil, adaptor: Adaptor? = nil) {
        self.responderCalls = responderCalls
        self.adaptor = adaptor
        adaptorAddress = adaptor.map { Unretained($0).address } ?? 0
    }

    deinit { record?.release() }

    @inline(__always)
    final func countDirectCall() { directCalls.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a call on the poster's thread, if there is only one such call at a time.
    @inline(__always)
    final func countLoneCall() { directCalls.store(directCalls.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    final func countMissed() { missed.wrappingAdd(1, ordering: .relaxed) }

    final var missedCount: Int { missed.load(ordering: .relaxed) }

    /// Returns what happened to the messages. `countsCalls`: whether direct calls are counted.
    func accounts(countsCalls: Bool) -> ListenerAccounts? {
        guard countsCalls else { return nil }
        let calls = directCalls.load(ordering: .relaxed)
        return ListenerAccounts(posted: calls, delivered: calls)
    }

    /// Discards the waiting messages of a cancelled listener.
    func discardWaiting() {}

    /// No message follows. What waits is still delivered.
    func nothingFollows() {}

    /// Takes over the closure of a listener that no post can see, if still in use. Returns whether it did.
    func takesOverBody(of listener: ListenerEntry) -> Bool { false }

    /// Called when the closure has been freed.
    func bodyIsFree() { adaptor = nil }

    /// Suspends until no call of the ended listener is in progress. Does not wait for posts.
    func waitForCall(of listener: ListenerEntry) async { await responderCalls?.wait() }

    /// Suspends until the listener, which has ended, has heard what waits for it. Posts are not waited for.
    func waitUntilFinished() async { await responderCalls?.wait() }
}

extension ListenerCounters {
    /// What the ``ListInstrument`` keeps with the listener, if it does. Kept until `deinit`.
    final var record: Unretained<AnyObject>? { Unretained(address: recordAddress.load(ordering: .acquiring)) }

    /// The record, made if there is none.
    final func ensureRecord(_ make: () -> AnyObject) -> AnyObject {
        if let record { return record.object }
        let made = Unretained<AnyObject>.retaining(make())
        let (isFirst, known) = recordAddress.compareExchange(
            expected: 0,
            desired: made.address,
            ordering: .acquiringAndReleasing
        )
        if isFirst { return made.object }
        made.release()
        // Another thread was first, and what it set stays.
        return Unretained<AnyObject>(certain: known).object
    }
}

/// What happened to the messages posted so far: posted = delivered + waiting + dropped + discarded.
struct ListenerAccounts {
    var posted = 0
    var delivered = 0
    var waiting = 0
    var dropped = 0
    var discarded = 0
}
