internal import Synchronization

/// What a listener to a pattern is handed.
@usableFromInline
struct PatternMessage: Sendable {
    let name: String
    let message: any Sendable

    /// The one at an address.
    static func at(_ address: UnsafeMutableRawPointer) -> PatternMessage {
        // A hub carries nothing else, and holds it for the call.
        address.assumingMemoryBound(to: PatternMessage.self).pointee
    }
}

/// A listener to a pattern: a list of its own, the hub, with the one listener, and an entry that forwards to it in every channel that matches.
///
/// So it has one token and one mailbox, and stands in each channel where its priority and registration put it. `forwarders` is guarded
/// by its mutex, which is taken inside that of ``PatternListeners``.
final class PatternListener: Sendable {
    let pattern: ChannelPattern
    let priority: Priority
    let site: PackedSite
    let hub: ListenerList
    /// For a bridge, which hears only messages posted in this process: what to enqueue for one of them; nil where it is not taken.
    let intake: Intake?
    /// By the address of the channel's list.
    private let forwarders = Locked<[UInt: ListenerEntry]>([:])

    typealias Intake = @Sendable (_ name: String, _ message: any Sendable) -> (any Sendable)?

    init(
        _ pattern: ChannelPattern,
        _ priority: Priority,
        _ site: PackedSite,
        _ faults: FaultReporter,
        counts: Bool,
        intake: Intake? = nil
    ) {
        self.intake = intake
        self.pattern = pattern
        self.priority = priority
        self.site = site
        hub = ListenerList(layout: MessageLayout(PatternMessage.self), name: pattern.text, faults: faults, counts: counts)
    }

    deinit {
        detach()
        hub.close()
    }

    /// Whether it hears channels of a kind whose name matches.
    func hears(_ kind: ChannelKind) -> Bool {
        switch kind {
        case .messages: true
        case .state: intake == nil
        case .requests: false
        }
    }

    /// Puts a forwarder into a channel, if there is none. Runs no user code.
    func attach(to list: ListenerList) {
        let isNew = forwarders.withLock { $0[list.address] == nil }
        guard isNew else { return }
        let layout = list.layout
        let name = list.name ?? ""
        let call: ListenerCall = { [hub, intake] message, _, frame in
            let boxed: any Sendable
            if let intake {
                guard frame.pointee.envelope?.origin ?? .local == .local, let taken = intake(name, layout.boxed(message)) else { return }
                boxed = taken
            } else {
                boxed = layout.boxed(message)
            }
            var forwarded = PatternMessage(name: name, message: boxed)
            withUnsafeMutablePointer(to: &forwarded) { forwarded in
                var inner = PostFrame(forwarding: frame.pointee, to: hub)
                frame.pointee.forwardedTo = withUnsafeMutablePointer(to: &inner) {
                    hub.isEmptyNow ? 0 : hub.post(UnsafeMutableRawPointer(forwarded), in: $0)
                }
                inner.end()
            }
        }
        let entry = ListenerEntry(
            bits: ListenerEntry.forwards | ListenerEntry.general,
            owner: nil,
            mailbox: nil,
            site: site,
            call: BareCall(call: call)
        )
        forwarders.withLock { $0[list.address] = entry }
        // Whoever holds the mutex calls `lockWasGivenUp` later.
        _ = list.insert(entry, priority: priority.rawValue)
    }

    /// The channel has gone.
    func forget(_ list: ListenerList) {
        let entry = forwarders.withLock { $0.removeValue(forKey: list.address) }
        withExtendedLifetime(entry) {}
    }

    /// Takes the forwarders out of every channel.
    func detach() {
        let entries = forwarders.withLock { forwarders in
            defer { forwarders = [:] }
            return Array(forwarders.values)
        }
        for entry in entries { entry.cancel() }
    }
}

/// The listeners to patterns of a switchboard.
///
/// Guarded by the mutex, in which no user code runs; shards and lists are locked inside it.
final class PatternListeners: Sendable {
    private struct Table {
        /// In the order of registration.
        var listeners: [PatternListener] = []
        /// Where the search for owners that have gone stands.
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

    /// Adds a listener and attaches it to the channels there are.
    func add(_ listener: PatternListener, channels: () -> [(name: String, kind: ChannelKind, list: ListenerList, object: AnyObject)]) {
        // Released without the mutex: the last reference to a channel may be among them.
        var seen: [(name: String, kind: ChannelKind, list: ListenerList, object: AnyObject)] = []
        table.withLock { table in
            table.listeners.append(listener)
            count.store(table.listeners.count, ordering: .releasing)
            seen = channels()
            for channel in seen where listener.hears(channel.kind) && listener.pattern.matches(channel.name) {
                listener.attach(to: channel.list)
            }
        }
        for channel in seen { channel.list.lockWasGivenUp() }
        sweep()
    }

    /// Attaches the patterns that match to a new channel and then runs a body, before any other pattern comes.
    func attaching<Result>(to list: ListenerList, named name: String, _ kind: ChannelKind, _ body: () throws -> Result) rethrows -> Result {
        if case .requests = kind { return try body() }
        return try table.withLock { table in
            for listener in table.listeners where listener.hears(kind) && listener.pattern.matches(name) { listener.attach(to: list) }
            return try body()
        }
    }

    func forget(_ list: ListenerList, named name: String) {
        guard count.load(ordering: .acquiring) > 0 else { return }
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

    /// Lets go of listeners whose owner has gone, among the next few: each registration pays for some.
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
    /// Whether nobody is registered.
    var isEmptyNow: Bool { listenerCountNow == 0 }
}

extension MessageLayout {
    /// A copy of a message in an existential. Messages of channels that have a name are Sendable, which leaves no trace in the layout of
    /// an existential: `Any` and `any Sendable` are the same.
    func boxed(_ message: UnsafeMutableRawPointer) -> any Sendable {
        func box<Message>(_: Message.Type) -> Any { message.assumingMemoryBound(to: Message.self).pointee }
        // See above.
        return unsafeBitCast(_openExistential(type, do: box), to: (any Sendable).self)
    }
}
