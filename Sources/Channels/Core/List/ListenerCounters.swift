internal import Synchronization

/// What is counted of a listener that is called on the poster's thread; a ``Mailbox`` counts this, too.
@usableFromInline
class ListenerCounters: @unchecked Sendable {  // a constant, and atomics
    /// The calls of a responder that are under way.
    let responderCalls: ResponderCalls?
    let direct = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)

    init(responderCalls: ResponderCalls? = nil) { self.responderCalls = responderCalls }

    /// Counts a call on the poster's thread.
    @inline(__always)
    final func countDirectCall() { direct.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a call on the poster's thread, where there is one at a time.
    @inline(__always)
    final func countLoneCall() { direct.store(direct.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    /// Counts a message that was posted while the listener was paused.
    final func countMissed() { missed.wrappingAdd(1, ordering: .relaxed) }

    /// Messages posted while the listener was paused.
    final var missedCount: Int { missed.load(ordering: .relaxed) }
}

/// What became of the messages posted so far: posted = delivered + waiting + dropped + discarded.
struct ListenerAccounts {
    var posted = 0
    var delivered = 0
    var waiting = 0
    var dropped = 0
    var discarded = 0
}
