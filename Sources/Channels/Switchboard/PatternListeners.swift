internal import Synchronization

/// A switchboard's listeners to patterns. Under the lock, no user code runs and names are not visited. The locks of
/// `PatternListener`, shards and lists are taken inside it.
///
/// A channel and a pattern added at the same time find each other, and are attached only once. A pattern is entered
/// here before it visits the channels, and a channel is attached to the patterns and entered in one critical section.
/// Whichever comes second finds the forwarding entry (`PatternListener.attach`). If a channel loses its name while a
/// pattern visits the channels, it does not keep the pattern.
final class PatternListeners: Sendable {
    private struct Table { var listeners: [PatternListener] = [] }

    private let table = Locked(Table())
    private let count = Atomic<Int>(0)

    deinit {
        for listener in all {
            listener.detach()
            listener.hub.close()
        }
    }

    var all: [PatternListener] { table.withLock { $0.listeners } }

    /// Whether any pattern that has a listener matches a name (nil for the channel of a type).
    func match(_ name: String?) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return all.contains { $0.matches(name) && !$0.hub.isEmptyNow }
    }

    /// Adds a listener and attaches it to the existing channels, a few at a time.
    func add(_ listener: PatternListener, to registry: Registry) {
        table.withLock { table in
            table.listeners.append(listener)
            count.store(table.listeners.count, ordering: .releasing)
        }
        for (slot, _) in registry.channels where listener.matches(slot.kind, named: slot.list.name) {
            listener.attach(to: slot.list)
            // A thread that frees a name detaches the channel afterwards, so one of the two threads sees what the other
            // did.
            if !registry.withShard(of: slot.key, { $0.holds(slot) }) { listener.detach(from: slot.list) }
            slot.list.didUnlock()
        }
    }

    /// Attaches the matching patterns to a new channel and enters the channel, so that no pattern can be added in
    /// between. The caller then calls `didUnlock` of the list.
    func attaching(
        to list: ListenerList,
        _ kind: ChannelContent,
        _ enter: () -> RegistryShard.Entered
    ) -> RegistryShard.Entered {
        table.withLock { table in
            for listener in table.listeners where listener.matches(kind, named: list.name) { listener.attach(to: list) }
            return enter()
        }
    }

    func forget(_ list: ListenerList) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        for listener in all where listener.matches(list.name) { listener.forget(list) }
    }

    /// Detaches all patterns from a channel whose name was freed.
    func detach(from list: ListenerList) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        for listener in all { listener.detach(from: list) }
    }

    func remove(_ listener: PatternListener) {
        let wasIn = table.withLock { table in
            // Not removed in place, because other threads read the array without the lock. That would be safe, but the
            // thread sanitizer would not see the synchronization, which is in the runtime.
            let others = table.listeners.filter { $0 !== listener }
            guard others.count < table.listeners.count else { return false }
            table.listeners = others
            count.store(table.listeners.count, ordering: .releasing)
            return true
        }
        if wasIn { listener.detach() }
    }
}

extension ListenerList {
    var isEmptyNow: Bool { listenerCountNow == 0 }
}
