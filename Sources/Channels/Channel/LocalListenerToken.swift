/// The handle of one listener of a ``LocalChannel``; not Sendable. A listener without an owner ends with its token.
public final class LocalListenerToken {
    private let entry: ListenerEntry

    init(_ entry: ListenerEntry) { self.entry = entry }

    deinit { if !entry.hasOwner { entry.cancel() } }

    /// Whether messages still reach the listener.
    public var isActive: Bool { !entry.hasEnded && !entry.isOrphan }

    /// Ends the listener: no call begins after this returns.
    public func cancel() { entry.cancel() }

    /// Makes the listener miss the messages posted until ``resume()``. The listener keeps its place in the order.
    public func pause() { entry.pause() }

    /// Resumes delivery, without the messages missed while paused. Does nothing if the listener is not
    /// paused.
    public func resume() { entry.resume() }

    /// Whether the listener is paused.
    public var isPaused: Bool { entry.isPaused }

    /// Stores the token in a collection, for listeners that should end together.
    public func store(in tokens: inout some RangeReplaceableCollection<LocalListenerToken>) { tokens.append(self) }
}
