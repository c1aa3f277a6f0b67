internal import Synchronization

/// The way by which messages reach a listener that needs more than its entry, and counts of them.
///
/// This class is the way of a listener that is called at once, on the poster's thread: nothing waits for it. It has one
/// once it is paused or counted, or if it has an adaptor. The others, on the floors above, are a lane (`Mailbox`), the
/// tasks that read (`SequenceMailbox`), the list of a pattern (`Forwarder`) and ``ResponderCalls``. The bits of the
/// entry say which it is, so a post chooses without a call.
@usableFromInline
class ListenerRoute: @unchecked Sendable {  // a constant, and atomics
    /// Of an entry with the bit ``ListenerEntry/adapted``.
    /// Released with the closure, after the last post that could read it has ended.
    @safe @exclusivity(unchecked) private var adaptor: Adaptor?
    /// The address of the adaptor, which this keeps; 0 if there is none.
    let adaptorAddress: UInt
    /// Calls that no drain made: by posts, notifications and requests. Those of a listener for which nothing waits are
    /// counted while diagnostics are on.
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

    /// Counts a call on the poster's thread, if there is only one such call at a time.
    @inline(__always)
    final func countLoneCall() { directCalls.store(directCalls.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    final func countMissed() { missed.wrappingAdd(1, ordering: .relaxed) }

    final var missedCount: Int { missed.load(ordering: .relaxed) }

    /// What happened to the messages.
    var accounts: ListenerAccounts {
        let calls = directCalls.load(ordering: .relaxed)
        return ListenerAccounts(posted: calls, delivered: calls)
    }

    // What becomes of the listener, in this order.

    /// Called when the listener has ended, by each thread that ends it. No message follows.
    /// - Parameter discards: Whether what waits is discarded now, instead of delivered.
    func didEnd(discards: Bool) {}

    /// Called once no post can see the listener. Frees its closure, or leaves that to whoever delivers what waits.
    func didLeaveList(_ listener: ListenerEntry) { listener.freeBody() }

    /// Called when the closure has been freed.
    func didFreeBody() { adaptor = nil }

    /// Suspends until no call of the listener, which has ended, is in progress. Does not wait for posts.
    /// - Parameter afterDelivery: Whether to wait until what waits for the listener has been delivered, too.
    func waitForCalls(of listener: ListenerEntry, afterDelivery: Bool) async {}
}

extension ListenerRoute {
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
