internal import Synchronization

/// The handle of one listener.
///
/// A listener with an owner lives as long as the owner, whether or not the token is kept or overwritten. One without an
/// owner is cancelled when the last reference to its token is released.
///
/// A token may be used from any thread. Two tokens are equal if they belong to the same listener.
public class ListenerToken: @unchecked Sendable {  // nothing is stored here; see the two subclasses
    // There are two subclasses. A listener with an owner uses its entry as the token, which saves an
    // allocation; one without has an `OwningToken`.
    init() {}

    var entry: ListenerEntry { fatalError("defect of swift-channels: a token is neither an entry nor an OwningToken") }

    /// True until the listener ends. It ends when it is cancelled, when a `once` listener gets its message, when its
    /// channel is deallocated or finished, and when its owner is deallocated. A paused listener is active.
    public final var isActive: Bool { !entry.hasEnded && !entry.isOrphan }

    /// Ends the listener without waiting.
    ///
    /// Called in the listener's own isolation (or, for a synchronous nonisolated listener, on the posting
    /// thread), it guarantees that no call begins after it returns. Called anywhere else, and for an async
    /// nonisolated listener, it cannot stop a call that is already starting: see ``cancelAndWait()``. Queued
    /// messages are discarded and counted. Other listeners are not affected. Calling it again does nothing.
    ///
    /// - Complexity: O(1); for a pattern's listener, O(*n*) in the number of patterns and names of its
    ///   switchboard.
    public func cancel() { entry.cancel() }

    /// Ends the listener, discards its queued messages, and suspends until none of its calls is running and none can
    /// begin.
    ///
    /// Waits for posts on the channel that are in progress on other threads, and for the call that is being made from
    /// the listener's mailbox. For a responder, it waits for every request handed to the responder; for a pattern's
    /// listener, for the posts on every matching channel. It ignores task cancellation, because those posts end in any
    /// case.
    ///
    /// Called inside the listener, or inside a listener that it awaits with `postAndWait` or a request, this
    /// method cancels without waiting. Until a call ends, tasks that it has started count as part of it. Two
    /// unrelated listeners that wait for each other in this way deadlock.
    public final func cancelAndWait() async {
        entry.cancel()
        await waitForCalls(afterDelivery: false)
    }

    /// Ends the listener after its queued messages have been delivered, and suspends until its last call has ended.
    ///
    /// Messages posted from now on do not reach it. The wait lasts as long as the listener's actor or queue needs.
    /// Cancelling the task does not end it. Calling ``cancel()`` meanwhile discards the messages still queued. A
    /// sequence ends when its reader has taken the queued messages; this method does not wait for that. Called inside
    /// the listener, or inside a listener that it awaits with `postAndWait` or a request, it does not wait at all.
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
    /// Missed messages are counted (``missedCount``), and the result of
    /// ``Channel/post(_:from:echo:fileID:line:isolation:)`` does not include the listener. A call in progress
    /// continues. The listener keeps its place in the order.
    public func pause() { entry.pause() }

    /// Resumes delivery. Messages missed while paused are not delivered. Does nothing if the listener is not
    /// paused.
    ///
    /// A listener of a state receives the current value first. If the state refuses to deliver it (see
    /// ``StateChannel``), the listener stays paused and a fault is raised.
    public func resume() { entry.resume() }

    /// Whether the listener is paused.
    public var isPaused: Bool { entry.isPaused }

    /// The number of messages delivered to the listener.
    ///
    /// Direct calls of a channel's listener without a mailbox are counted only while the diagnostics of its switchboard
    /// are on; otherwise this is 0 for such a listener.
    public final var deliveredCount: Int { entry.accounts?.delivered ?? 0 }

    /// The number of messages in the listener's mailbox.
    public final var waitingCount: Int { entry.accounts?.waiting ?? 0 }

    /// The number of messages dropped because the listener's buffer was full, or by its ``OverlappingPolicy``.
    public final var droppedCount: Int { entry.accounts?.dropped ?? 0 }

    /// The number of messages discarded because the listener was cancelled, or its owner deallocated, while they were
    /// queued.
    public final var discardedCount: Int { entry.accounts?.discarded ?? 0 }

    /// The number of messages missed while the listener was paused.
    public final var missedCount: Int { entry.route?.borrow { $0.missedCount } ?? 0 }

    /// Stores the token in a variable, and cancels the listener whose token the variable held.
    ///
    /// Use it for a listener that replaces an earlier one. If the listener has an owner, assigning the token would not
    /// end the earlier listener, because the owner keeps it:
    ///
    /// ```swift
    /// typed.listen(self) { me, text in await me.search(text) }.store(replacing: &searching)
    /// ```
    ///
    /// The new listener receives the messages posted from its registration on, before the earlier one ends. A post in
    /// progress on another thread meanwhile may reach neither.
    public final func store(replacing token: inout ListenerToken?) {
        let former = token
        token = self
        if former != self { former?.cancel() }
    }

    /// Stores the token in a set, for listeners that should end together.
    public final func store(in tokens: inout some SetAlgebra<ListenerToken>) { tokens.insert(self) }

    /// Stores the token in a collection, for listeners that should end together. Swift may release a local collection
    /// after its last use: see `withExtendedLifetime`.
    public final func store(in tokens: inout some RangeReplaceableCollection<ListenerToken>) {
        tokens.append(self)
    }
}

extension ListenerToken: Hashable {
    /// Returns whether both tokens belong to the same listener.
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
