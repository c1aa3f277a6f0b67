internal import Synchronization

/// The handle of one listener.
///
/// A listener with an owner lives as long as the owner, whether or not the token is kept or overwritten. One without an
/// owner is cancelled when the last reference to its token is released.
///
/// It may be used from any thread. Two tokens are equal if they belong to one listener.
public class ListenerToken: @unchecked Sendable {  // nothing is stored here; see the two subclasses
    // There are two subclasses. A listener with an owner uses its entry as the token, which saves an
    // allocation; one without has an `OwningToken`.
    init() {}

    var entry: ListenerEntry { fatalError("defect of swift-channels: a token is neither an entry nor an OwningToken") }

    /// Whether messages still reach the listener: it has not been cancelled, has not used up its `once`, and
    /// its channel and owner are alive. A paused listener is active.
    public final var isActive: Bool { !entry.hasEnded && !entry.isOrphan }

    /// Ends the listener without waiting.
    ///
    /// On the listener's own isolation or, for a listener without one, on the posting thread, no call begins
    /// after it returns. From any other thread, a call that has already passed its check may still run: see
    /// ``cancelAndWait()``. Queued messages are discarded and counted. No other listener is skipped.
    /// Idempotent.
    ///
    /// - Complexity: O(1); for a pattern's listener, O(*n*) in the number of patterns and names of its
    ///   switchboard.
    public func cancel() { entry.cancel() }

    /// Ends the listener, discards its queued messages, and suspends until no call is running or will begin.
    ///
    /// Waits for the channel's posts in progress on other threads, and for its mailbox's current call; for a
    /// responder, for every request handed to it; for a pattern's listener, for the posts on every matching
    /// channel. Ignores task cancellation: those posts end in any case.
    ///
    /// Called inside the listener, or inside one that it awaits with `postAndWait` or a request, this cancels
    /// without waiting. A task started by a call counts as part of that call until the call ends. Independent
    /// listeners that drain one another deadlock.
    public final func cancelAndWait() async {
        entry.cancel()
        await waitForCalls(afterDelivery: false)
    }

    /// Ends the listener once its queued messages are delivered, and suspends until its last call has ended.
    ///
    /// No message posted from now on reaches it. Waits as long as its actor or queue takes, and ignores task
    /// cancellation. ``cancel()`` meanwhile discards the messages still queued. A sequence ends once its
    /// reader has taken the queued messages, which this does not wait for. Called inside the listener, or
    /// inside one that it awaits with `postAndWait` or a request, this does not wait.
    public final func drain() async {
        entry.end()
        await waitForCalls(afterDelivery: true)
    }

    private func waitForCalls(afterDelivery: Bool) async {
        // One that was never put into a list receives nothing; the caller does not wait for itself.
        guard let list = entry.list, ListenerChain.call?.waits(for: entry) != true else { return }
        await list.waitForPosts()
        await entry.route?.object.waitForCalls(of: entry, afterDelivery: afterDelivery)
    }

    /// Makes the listener miss the messages posted until ``resume()``; those already queued are still delivered.
    ///
    /// Missed messages are counted (``missedCount``); ``Channel/post(_:from:echo:fileID:line:isolation:)`` does
    /// not count the listener. A call in progress continues. The listener keeps its place in the order.
    public func pause() { entry.pause() }

    /// Resumes delivery. Messages missed while paused are not delivered. Does nothing if the listener is not
    /// paused.
    ///
    /// A listener of a state receives the current value first. If the state refuses that (see ``StateChannel``),
    /// the listener stays paused and a fault is reported.
    public func resume() { entry.resume() }

    /// Whether the listener is paused.
    public var isPaused: Bool { entry.isPaused }

    /// The number of messages delivered to the listener through its mailbox, or from a state; for a channel's
    /// listener that is called directly, 0 unless the diagnostics of its switchboard are on.
    public final var deliveredCount: Int { entry.accounts?.delivered ?? 0 }

    /// The number of messages in the listener's mailbox.
    public final var waitingCount: Int { entry.accounts?.waiting ?? 0 }

    /// The number of messages dropped by its full buffer or its ``OverlappingPolicy``.
    public final var droppedCount: Int { entry.accounts?.dropped ?? 0 }

    /// The number of messages queued when the listener was cancelled or its owner deallocated.
    public final var discardedCount: Int { entry.accounts?.discarded ?? 0 }

    /// The number of messages missed while the listener was paused.
    public final var missedCount: Int { entry.route?.borrow { $0.missedCount } ?? 0 }

    /// Stores the token in a variable, and ends the listener whose token it held.
    ///
    /// For a listener that takes the place of an earlier one. To assign the token is not enough where the listener has
    /// an owner, which keeps it:
    ///
    /// ```swift
    /// typed.listen(self) { me, text in await me.search(text) }.store(replacing: &searching)
    /// ```
    ///
    /// The new listener hears messages before the earlier one ends, so none is missed in between.
    public final func store(replacing token: inout ListenerToken?) {
        let former = token
        token = self
        if former != self { former?.cancel() }
    }

    /// Stores the token in a set whose listeners end together.
    public final func store(in tokens: inout some SetAlgebra<ListenerToken>) { tokens.insert(self) }

    /// Stores the token in a collection whose listeners end together. Swift may release a local collection
    /// after its last use: see `withExtendedLifetime`.
    public final func store(in tokens: inout some RangeReplaceableCollection<ListenerToken>) {
        tokens.append(self)
    }
}

extension ListenerToken: Hashable {
    /// Returns whether both tokens belong to one listener.
    public static func == (left: ListenerToken, right: ListenerToken) -> Bool { left.entry === right.entry }

    /// Hashes the identity of the listener.
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(entry)) }
}

extension ListenerToken: CustomStringConvertible {
    /// Where the listener was registered, and whether it is active.
    public final var description: String {
        let state = isActive ? (isPaused ? "paused" : "active") : "inactive"
        return "listener registered at \(entry.site.site) (\(state))"
    }
}
