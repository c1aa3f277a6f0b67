internal import Synchronization

/// The handle of one listener.
///
/// A listener with an owner lives as long as the owner, whether or not the token is kept. One without an
/// owner is cancelled when the last reference to its token is released.
///
/// Everything here may be called from any thread. Two tokens are equal if they are of the same listener.
public class ListenerToken: @unchecked Sendable {  // nothing is stored here; see the two subclasses
    // There are two subclasses. A listener with an owner uses its entry as the token, which saves an
    // allocation; one without has an `OwningToken`.
    init() {}

    var entry: ListenerEntry { fatalError("defect of swift-channels: a token is neither an entry nor an OwningToken") }

    /// Whether messages still reach the listener: it has not been cancelled, has not used up its `once`, and
    /// its channel and owner are alive. A paused listener is active.
    public final var isActive: Bool { !entry.hasEnded && !entry.isOrphan }

    /// Ends the listener. Does not wait.
    ///
    /// On the listener's own isolation or, for a listener without one, on the posting thread, no call begins
    /// after it returns. From elsewhere, a call that had passed its check may still run: see
    /// ``cancelAndDrain()``. Messages waiting in the mailbox are discarded and counted. No other listener is
    /// skipped. Idempotent.
    ///
    /// - Complexity: O(1); for a listener to a pattern, O(*n*) in the number of patterns and names of its switchboard.
    public func cancel() { entry.cancel() }

    /// Ends the listener, discards what waits for it, and suspends until no call of it runs and none will begin.
    /// ``finish()`` delivers what waits.
    ///
    /// Waits for the channel's posts in progress on other threads, and for the call that its mailbox is
    /// making; for a responder, for every request handed to it; for a listener to a pattern, for the posts on every
    /// channel that it listens to. Ignores task cancellation: those posts end in
    /// any case.
    ///
    /// Cancels and returns at once if it would wait for its caller: inside the listener, or inside one that
    /// the listener's call waits for, by `postAndWait` or by a request. A task started by a call counts
    /// as part of that call until the call ends. Independent listeners that drain one another deadlock.
    public final func cancelAndDrain() async {
        entry.cancel()
        await waitForCalls(afterDelivery: false)
    }

    /// Ends the listener, and suspends until what waits for it has been delivered and the last call has ended.
    ///
    /// No message posted from here on reaches it. Waits for as long as its actor or queue takes; ignores task
    /// cancellation. ``cancel()`` in the meantime discards what still waits. A sequence ends once its reader has taken
    /// what waits, which this does not wait for. Returns at once if it would wait for its caller, as
    /// ``cancelAndDrain()`` does.
    public final func finish() async {
        entry.end()
        await waitForCalls(afterDelivery: true)
    }

    private func waitForCalls(afterDelivery: Bool) async {
        // One that was never put into a list hears nothing; the caller does not wait for itself.
        guard let list = entry.list, ListenerChain.call?.waits(for: entry) != true else { return }
        await list.waitForPosts()
        await entry.route?.object.waitForCalls(of: entry, afterDelivery: afterDelivery)
    }

    /// Withholds messages from the listener until ``resume()``.
    ///
    /// Messages posted meanwhile are missed and counted (``missedCount``);
    /// ``Channel/post(_:from:echo:fileID:line:isolation:)`` does not count the listener. Waiting messages are
    /// still delivered, and a call in progress continues. The listener keeps its place in the order.
    public func pause() { entry.pause() }

    /// Delivers what is posted from now on, not what was missed. Does nothing if it is not paused.
    ///
    /// A listener of a state receives the current value first. If the state refuses that (see ``StateChannel``),
    /// the listener stays paused and a fault is reported.
    public func resume() { entry.resume() }

    /// Whether the listener is paused.
    public var isPaused: Bool { entry.isPaused }

    /// Messages handed to the listener. Without a mailbox, they are counted only while diagnostics are on.
    public final var deliveredCount: Int { entry.accounts?.delivered ?? 0 }

    /// Messages that wait in the listener's mailbox.
    public final var waitingCount: Int { entry.accounts?.waiting ?? 0 }

    /// Messages dropped because the listener's buffer was full, or by its ``OverlappingPolicy`` policy.
    public final var droppedCount: Int { entry.accounts?.dropped ?? 0 }

    /// Messages that waited when the listener was cancelled or its owner deallocated.
    public final var discardedCount: Int { entry.accounts?.discarded ?? 0 }

    /// Messages that the listener missed because it was paused.
    public final var missedCount: Int { entry.route?.borrow { $0.missedCount } ?? 0 }

    /// Keeps the token in a set whose listeners end together.
    public final func store(in tokens: inout some SetAlgebra<ListenerToken>) { tokens.insert(self) }

    /// Keeps the token in an array or another collection whose listeners end together. Swift may release a
    /// local collection after its last use: see `withExtendedLifetime`.
    public final func store(in tokens: inout some RangeReplaceableCollection<ListenerToken>) {
        tokens.append(self)
    }
}

extension ListenerToken: Hashable {
    /// Returns whether both are the same object.
    public static func == (left: ListenerToken, right: ListenerToken) -> Bool { left.entry === right.entry }

    /// Hashes the identity.
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(entry)) }
}

extension ListenerToken: CustomStringConvertible {
    /// Where the listener was registered, and whether it is active.
    public final var description: String {
        let state = isActive ? (isPaused ? "paused" : "active") : "inactive"
        return "listener registered at \(entry.site.site) (\(state))"
    }
}
