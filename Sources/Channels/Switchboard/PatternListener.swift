internal import Synchronization

/// A listener to a pattern: a list of its own, the hub, with one listener, and in every matching channel an
/// entry that forwards to it.
///
/// So it has one token and one mailbox, and its place by priority and registration in each channel.
/// `forwarders` is guarded by its lock, which is taken inside that of ``PatternListeners``; those of lists
/// are taken inside it.
final class PatternListener: Sendable {
    let pattern: ChannelPattern
    let hub: ListenerList
    /// The hub's.
    let listener: ListenerEntry
    private let priority: Priority
    private let site: PackedSite
    /// For a bridge, which hears only messages posted in this process.
    private let intake: Forwarder.Intake?
    /// By the address of the channel's list; nil once it has been detached.
    private let forwarders = Locked<[UInt: ListenerEntry]?>([:])

    init(
        _ listener: Registration,
        matching pattern: ChannelPattern,
        _ faults: FaultReporter,
        intake: Forwarder.Intake? = nil
    ) {
        self.intake = intake
        self.pattern = pattern
        priority = listener.priority
        site = listener.site
        hub = ListenerList(
            layout: MessageLayout(Posted<any Sendable>.self),
            of: MatchingChannels.self,
            kind: .pattern,
            name: pattern.text,
            // The posts that it forwards are bounded where they are made.
            reentrancy: .nested(limit: ThreadRecord.deepest),
            faults: faults
        )
        self.listener = hub.makeEntry(listener)
    }

    deinit {
        detach()
        hub.close()
    }

    /// Whether it hears a channel of a kind: one with a name that matches.
    func matches(_ kind: ChannelContent, named name: String?) -> Bool {
        let isOfAKind =
            switch kind {
            case .messages: true
            case .state: intake == nil
            case .requests: false
            }
        guard isOfAKind, let name else { return false }
        return pattern.matches(name)
    }

    /// Adds a forwarder to a channel, if there is none and this has not been detached. Runs no user code.
    ///
    /// The caller calls `didUnlock` of the list later.
    func attach(to list: ListenerList) {
        let forwarder = Forwarder(to: listener, of: hub, intake)
        let entry = list.makeEntry(Registration(nil, .forwarder(forwarder), ListenerOptions(priority, site), .nothing))
        // In one section: whoever removes the entry from `forwarders` finds it in the list.
        forwarders.withLock { forwarders in
            guard forwarders != nil, forwarders?[list.address] == nil else { return }
            forwarders?[list.address] = entry
            list.insert(entry, priority: priority.rawValue)
        }
    }

    /// The channel was deallocated.
    func forget(_ list: ListenerList) {
        let entry = forwarders.withLock { $0?.removeValue(forKey: list.address) }
        withExtendedLifetime(entry) {}
    }

    /// Removes the forwarder from a channel.
    func detach(from list: ListenerList) { forwarders.withLock { $0?.removeValue(forKey: list.address) }?.cancel() }

    /// Removes the forwarders from every channel, and adds no more.
    ///
    /// - Complexity: O(*n*) in the number of channels. No lock is held meanwhile.
    func detach() {
        let all = forwarders.withLock { forwarders -> [UInt: ListenerEntry]? in
            defer { forwarders = nil }
            return forwarders
        }
        for entry in (all ?? [:]).values { entry.cancel() }
    }
}
