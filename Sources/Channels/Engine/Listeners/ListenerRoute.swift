internal import Synchronization

/// How messages reach a listener that needs more than its entry, with counts of them.
///
/// This class itself is the route of a listener that is called at once, on the poster's thread. Such a listener gets a
/// route when it is first paused or counted, or if it has an adaptor. The subclasses lead to a lane (`Mailbox`), to
/// tasks that read (`SequenceMailbox`), to the hub of a pattern (`Forwarder`) or to a responder (``ResponderCalls``).
/// The entry's ``ListenerState`` says which subclass it is, so that a post can choose without a call.
@usableFromInline
class ListenerRoute: @unchecked Sendable {  // a constant, and atomics
    /// The adaptor of an entry with the bit ``ListenerState/adapted``. Released with the closure, after the last post
    /// that could read it has ended.
    @safe @exclusivity(unchecked) private var adaptor: Adaptor?
    /// The address of the adaptor, which this keeps; 0 if there is none.
    let adaptorAddress: UInt
    /// How many calls were made not by a drain, but directly by posts, notifications and requests. For a listener
    /// without a mailbox, they are counted only while diagnostics are on.
    let directCalls = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    /// The address of ``record``, retained, or 0. Set once.
    private let recordAddress = Atomic<UInt>(0)

    init(adaptor: Adaptor? = nil) {
        self.adaptor = adaptor
        adaptorAddress = adaptor.map { Unretained($0).address } ?? 0
    }

    deinit { record?.release() }

    @inline(__always)
    final func countDirectCall() { directCalls.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a call on the poster's thread, if such calls are made one at a time.
    @inline(__always)
    final func countLoneCall() { directCalls.store(directCalls.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    final func countMissed() { missed.wrappingAdd(1, ordering: .relaxed) }

    final var missedCount: Int { missed.load(ordering: .relaxed) }

    var accounts: ListenerAccounts {
        let calls = directCalls.load(ordering: .relaxed)
        return ListenerAccounts(posted: calls, delivered: calls)
    }

    // The end of the listener. The methods are called in this order.

    /// Called when the listener has ended, by each thread that ends it. No further message follows.
    /// - Parameter discards: Whether what waits is discarded now, instead of delivered.
    func didEnd(discards: Bool) {}

    /// Called once no post can see the listener. Frees its closure, or leaves that to the drain or reader that delivers
    /// what waits.
    func didLeaveList(_ listener: ListenerEntry) { listener.freeBody() }

    /// Called when the closure has been freed.
    func didFreeBody() { adaptor = nil }

    /// Suspends until no call of the ended listener is in progress. Does not wait for posts.
    /// - Parameter afterDelivery: Whether to wait also until all waiting messages have been delivered.
    func waitForCalls(of listener: ListenerEntry, afterDelivery: Bool) async {}
}

extension ListenerRoute {
    /// What the ``ListInstrument`` has stored with the listener, if anything. Kept until `deinit`.
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
        // Another thread was first, and the record that it set stays.
        return Unretained<AnyObject>(known: known).object
    }
}

/// What happened to the messages posted so far: posted = delivered + waiting + dropped + discarded.
package struct ListenerAccounts {
    var posted = 0
    package var delivered = 0
    package var waiting = 0
    package var dropped = 0
    var discarded = 0
}
