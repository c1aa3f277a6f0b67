internal import Synchronization

/// The handle of one listener.
///
/// A listener registered with an owner lives as long as the owner, whether or not the token is kept. One
/// registered without lives as long as the token: it is cancelled when the last reference to the token is
/// released.
///
/// Everything here may be called from any thread. Two tokens are equal if they are the same object.
public class ListenerToken: @unchecked Sendable {  // nothing is stored here; see the two subclasses
    // The entry of a listener with an owner is its own token, which saves an allocation; one without has an
    // `OwningToken`. There are no others: the initialiser is not public, and the class is not open.
    init() {}

    /// The registration.
    var entry: ListenerEntry { fatalError("a listener's token is its entry or an OwningToken") }

    /// Whether messages still reach the listener: it has not been cancelled, has not used up its `once`, and
    /// its channel and owner are alive. A paused listener is active.
    public final var isActive: Bool { !entry.hasEnded && !entry.isOrphan }

    /// Ends the listener. Does not wait.
    ///
    /// Called on the listener's own isolation, or, for a listener without one, on the posting thread, no call
    /// begins after it returns. From elsewhere, a call that had passed its check may still run: see
    /// ``cancelAndDrain()``. Messages that wait in its mailbox are discarded and counted. Cancelling never
    /// skips another listener. It is idempotent.
    ///
    /// - Complexity: O(1).
    public func cancel() { entry.cancel() }

    /// Ends the listener and suspends until no call of it runs and none will begin.
    ///
    /// Waits for the posts of the channel that are under way on other threads, and for the call that its
    /// mailbox is making; for a responder, for every request that has been handed to it. It ignores task
    /// cancellation: the posts it waits for end in any case.
    ///
    /// It cancels and returns at once where it would wait for its caller: inside the listener, or inside one that
    /// the listener's call waits for, by `postAndWait` or by this function. A task that a call has started counts
    /// as part of that call until the call ends. Independent listeners that drain one another wait for ever, as two
    /// locks would.
    public final func cancelAndDrain() async {
        entry.cancel()
        if let call = ListenerChain.call, call.waits(for: entry) { return }
        await waitForCalls()
    }

    private func waitForCalls() async {
        await entry.list?.waitForPosts()
        await entry.counters?.object.waitForCall(of: entry)
    }

    /// Withholds messages from the listener until ``resume()``.
    ///
    /// Messages posted meanwhile are missed and counted (``missedCount``), and
    /// ``Channel/post(_:from:echo:fileID:line:isolation:)`` does not count the listener. What waits in its mailbox is
    /// still delivered, and a call under way goes on. The listener keeps its place in the order.
    public func pause() { entry.pause() }

    /// Delivers what is posted from now on; what was missed is not made up for.
    ///
    /// A listener of a state hears the current value first. If the state refuses that (see ``StateChannel``), the
    /// listener stays paused and a fault is raised. Does nothing if it is not paused.
    public func resume() { entry.resume() }

    /// Whether the listener is paused.
    public var isPaused: Bool { entry.isPaused }

    /// Messages handed to the listener. Counted for listeners with a mailbox, for others only with
    /// diagnostics on.
    public final var deliveredCount: Int { entry.accounts?.delivered ?? 0 }

    /// Messages that wait in the listener's mailbox.
    public final var waitingCount: Int { entry.accounts?.waiting ?? 0 }

    /// Messages dropped because the listener's buffer was full.
    public final var droppedCount: Int { entry.accounts?.dropped ?? 0 }

    /// Messages that waited when the listener was cancelled or its owner deallocated.
    public final var discardedCount: Int { entry.accounts?.discarded ?? 0 }

    /// Messages that the listener missed because it was paused when they were posted.
    public final var missedCount: Int { entry.counters?.borrow { $0.missedCount } ?? 0 }

    /// Keeps the token in a set whose listeners end together.
    public final func store(in tokens: inout some SetAlgebra<ListenerToken>) { tokens.insert(self) }

    /// Keeps the token in an array or another collection whose listeners end together. Swift may release one that is a
    /// local after its last use: see `withExtendedLifetime`.
    public final func store(in tokens: inout some RangeReplaceableCollection<ListenerToken>) {
        tokens.append(self)
    }
}

extension ListenerToken: Hashable {
    /// Whether both are the same object.
    public static func == (left: ListenerToken, right: ListenerToken) -> Bool { left === right }

    /// Hashes the identity.
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ListenerToken: CustomStringConvertible {
    /// Where the listener was registered, and whether it is active.
    public final var description: String {
        let state = isActive ? (isPaused ? "paused" : "active") : "inactive"
        return "listener registered at \(entry.site.site) (\(state))"
    }
}
