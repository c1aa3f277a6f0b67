internal import Synchronization

/// The listeners to patterns of a switchboard.
///
/// Guarded by the mutex, under which no user code runs; the locks of shards and lists are taken inside it.
final class PatternListeners: Sendable {
    private struct Table {
        /// In the order of registration.
        var listeners: [PatternListener] = []
        /// Where the search for dead owners continues.
        var hand = 0
    }

    private static let looksPerAdd = 4

    private let table = Locked(Table())
    private let count = Atomic<Int>(0)

    var all: [PatternListener] { table.withLock { $0.listeners } }

    /// Whether any pattern matches a name.
    func match(_ name: String) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return all.contains { $0.pattern.matches(name) && !$0.hub.isEmptyNow }
    }

    /// Adds a listener and attaches it to the existing channels.
    func add(
        _ listener: PatternListener,
        channels: () -> [(name: String, kind: ChannelContent, list: ListenerList, object: AnyObject)]
    ) {
        // Released without the mutex: the last reference to a channel may be among them.
        var seen: [(name: String, kind: ChannelContent, list: ListenerList, object: AnyObject)] = []
        table.withLock { table in
            table.listeners.append(listener)
            count.store(table.listeners.count, ordering: .releasing)
            seen = channels()
            for channel in seen where listener.hears(channel.kind) {
                guard let name = channel.list.name, listener.pattern.matches(name) else { continue }
                listener.attach(to: channel.list, named: name)
            }
        }
        for channel in seen { channel.list.didUnlock() }
        sweep()
    }

    /// Attaches the matching patterns to a new channel and then runs a body, before another pattern can be
    /// added.
    func attaching<Result>(
        to list: ListenerList,
        _ kind: ChannelContent,
        _ body: () throws -> Result
    ) rethrows -> Result {
        guard let name = list.name else { return try body() }
        if case .requests = kind { return try body() }
        return try table.withLock { table in
            for listener in table.listeners where listener.hears(kind) && listener.pattern.matches(name) {
                listener.attach(to: list, named: name)
            }
            return try body()
        }
    }

    func forget(_ list: ListenerList) {
        guard count.load(ordering: .acquiring) > 0, let name = list.name else { return }
        for listener in all where listener.pattern.matches(name) { listener.forget(list) }
    }

    func remove(_ listener: PatternListener) {
        let wasIn = table.withLock { table in
            guard let index = table.listeners.firstIndex(where: { $0 === listener }) else { return false }
            table.listeners.remove(at: index)
            count.store(table.listeners.count, ordering: .releasing)
            return true
        }
        if wasIn { listener.detach() }
    }

    /// Removes listeners whose owner has gone among the next few: each registration pays for some.
    private func sweep() {
        let some = table.withLock { table in
            (0..<min(Self.looksPerAdd, table.listeners.count)).map { _ in
                table.hand = table.hand + 1 < table.listeners.count ? table.hand + 1 : 0
                return table.listeners[table.hand]
            }
        }
        for listener in some { _ = listener.hub.activeListenerCount }
    }
}

extension ListenerList {
    /// Whether there are no listeners.
    var isEmptyNow: Bool { listenerCountNow == 0 }
}
