internal import Synchronization

/// A listener to a pattern: a list of its own, the hub, with one listener, and in every matching channel an
/// entry that forwards to it.
///
/// So it has one token and one mailbox, and its place by priority and registration in each channel.
/// `forwarders` is guarded by its lock, which is taken inside that of ``PatternListeners``; those of lists
/// are taken inside it.
final class PatternListener: Sendable {
    let pattern: ChannelPattern
    let priority: Priority
    let site: PackedSite
    let hub: ListenerList
    /// For a bridge, which hears only messages posted in this process: what to enqueue for a message; nil to
    /// skip it.
    let intake: Intake?
    private let forwarders = Locked(Forwarders())

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
        hub = ListenerList(
            layout: MessageLayout(Posted<any Sendable>.self),
            of: MatchingChannels.self,
            kind: .pattern,
            name: pattern.text,
            faults: faults,
            counts: counts
        )
    }

    deinit {
        detach()
        hub.close()
    }

    /// Whether it hears channels of a kind whose name matches.
    func hears(_ kind: ChannelContent) -> Bool {
        switch kind {
        case .messages: true
        case .state: intake == nil
        case .requests: false
        }
    }

    /// Adds a forwarder to a channel, if there is none and this has not been detached. Runs no user code.
    ///
    /// The caller calls `didUnlock` of the list later.
    func attach(to list: ListenerList, named name: String) {
        guard forwarders.withLock({ $0.mayInsert(list.address) }) else { return }
        let entry = forwarder(on: list, named: name)
        // In one section: whoever removes the entry from `forwarders` finds it in the list.
        forwarders.withLock { forwarders in
            guard forwarders.mayInsert(list.address) else { return }
            forwarders.insert(entry, for: list.address)
            _ = list.insert(entry, priority: priority.rawValue)
        }
    }

    private func forwarder(on list: ListenerList, named name: String) -> ListenerEntry {
        let layout = list.layout
        let options = ListenerOptions(priority, site)
        let call = BareCall { [hub, intake] message, _, frame in
            var content = layout.boxed(message)
            if let intake {
                guard frame.pointee.envelope?.origin ?? .local == .local, let taken = intake(name, content) else {
                    return
                }
                content = taken
            }
            var inner = PostFrame(forwarding: frame.pointee, to: hub)
            let posted = Posted(content, PostContext(frame))
            frame.pointee.forwardedTo = MessageAddress.lending(posted) { posted in
                inner.lend { hub.isEmptyNow ? 0 : hub.post(posted, in: $0) }
            }
            inner.end()
        }
        return list.makeEntry(Registration(nil, .forwarder, options, call))
    }

    /// The channel was deallocated.
    func forget(_ list: ListenerList) {
        let entry = forwarders.withLock { $0.remove(list.address) }
        withExtendedLifetime(entry) {}
    }

    /// Removes the forwarders from every channel, and adds no more.
    ///
    /// - Complexity: O(*n*) in the number of channels. No lock is held meanwhile.
    func detach() {
        for entries in forwarders.withLock({ $0.end() }) {
            for entry in entries.values { entry.cancel() }
        }
    }
}
