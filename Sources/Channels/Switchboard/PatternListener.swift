internal import Synchronization

/// A listener to a pattern. It has a list of its own, the hub, with one listener, and in every matching channel an
/// entry that forwards to that listener. So it has one token and one mailbox, and a place by priority and registration
/// in each channel.
///
/// The lock of `forwarders` is taken inside that of ``PatternListeners``, and the locks of lists are taken inside it.
///
/// Each forwarding entry keeps this object alive until no post can be at the entry. This object keeps the entries until
/// it is detached, when the listener or the switchboard ends. So when this object is deinitialized, no post can reach
/// the listener anymore.
final class PatternListener: Sendable {
    /// What the listener receives of the channels that match.
    enum Kinds { case all, messages, states }

    /// The pattern; nil for every channel, including those without a name.
    let pattern: ChannelPattern?
    let hub: ListenerList
    let listener: ListenerEntry
    private let priority: ListenerPriority
    private let site: PackedSite
    private let kinds: Kinds
    /// The forwarding entries, by the address of the channel's list; nil after `detach()`.
    private let forwarders = Locked<[UInt: ListenerEntry]?>([:])
    /// The tasks that wait until no post can reach the listener.
    private let waiters = Locked<[CheckedContinuation<Void, Never>]>([])

    init(
        _ listener: Registration,
        matching pattern: ChannelPattern?,
        hearing kinds: Kinds,
        _ faults: FaultReporter
    ) {
        self.kinds = kinds
        self.pattern = pattern
        priority = listener.priority
        site = listener.site
        hub = ListenerList(
            layout: MessageLayout(Posted<any Sendable>.self),
            of: MatchingChannels.self,
            kind: .pattern,
            name: pattern?.text ?? "all posts",
            faults: faults
        )
        self.listener = hub.makeEntry(listener)
    }

    deinit {
        // Closed, because the hub and its levels retain each other.
        hub.close()
        listener.didLeaveList()
        for waiter in waiters.withLock({ $0 }) { waiter.resume() }
    }

    /// Resumes a task once no post can reach the listener anymore.
    func resumeAtEnd(_ waiter: CheckedContinuation<Void, Never>) { waiters.withLock { $0.append(waiter) } }

    /// Whether it receives messages of a channel of this kind and name.
    func matches(_ kind: ChannelContent, named name: String?) -> Bool {
        let isOfAKind =
            switch kind {
            case .messages: kinds != .states
            case .state: kinds != .messages
            case .requests: false
            }
        return isOfAKind && matches(name)
    }

    /// - Parameter name: The name; nil for the channel of a type.
    func matches(_ name: String?) -> Bool {
        guard let pattern else { return true }
        return name.map { pattern.matches($0) } ?? false
    }

    /// Adds a forwarding entry to a channel, unless the channel has one or this was detached. Runs no user code. The
    /// caller calls `didUnlock` of the list later.
    func attach(to list: ListenerList) {
        let forwarder = Forwarder(to: listener, of: hub, keeping: self)
        let entry = list.makeEntry(Registration(nil, .forwarder(forwarder), ListenerOptions(priority, site), .nothing))
        // In one critical section, so that a thread that removes the entry from `forwarders` finds it in the list.
        forwarders.withLock { forwarders in
            guard forwarders != nil, forwarders?[list.address] == nil else { return }
            forwarders?[list.address] = entry
            list.insert(entry, priority: priority.rawValue)
        }
    }

    /// Forgets a channel that was deallocated or finished.
    func forget(_ list: ListenerList) {
        let entry = forwarders.withLock { $0?.removeValue(forKey: list.address) }
        withExtendedLifetime(entry) {}
    }

    func detach(from list: ListenerList) { forwarders.withLock { $0?.removeValue(forKey: list.address) }?.cancel() }

    /// Removes the forwarding entries from every channel, and adds no more. O(*n*) in their number, without a lock.
    func detach() {
        let all = forwarders.withLock { forwarders -> [UInt: ListenerEntry]? in
            defer { forwarders = nil }
            return forwarders
        }
        for entry in (all ?? [:]).values { entry.cancel() }
    }
}
