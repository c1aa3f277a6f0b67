internal import Synchronization

/// A listener to a pattern: a list of its own, the hub, with one listener, and in every matching channel an
/// entry that forwards to it.
///
/// So it has one token and one mailbox, and its place by priority and registration in each channel.
/// `forwarders` is guarded by its mutex, which is taken inside that of ``PatternListeners``.
final class PatternListener: Sendable {
    let pattern: ChannelPattern
    let priority: Priority
    let site: PackedSite
    let hub: ListenerList
    /// For a bridge, which hears only messages posted in this process: what to enqueue for a message; nil to
    /// skip it.
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

    /// Adds a forwarder to a channel, if there is none. Runs no user code.
    func attach(to list: ListenerList, named name: String) {
        let isNew = forwarders.withLock { $0[list.address] == nil }
        guard isNew else { return }
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
        let entry = list.makeEntry(Registration(nil, .forwarder, options, call))
        forwarders.withLock { $0[list.address] = entry }
        // The caller calls `didUnlock` later.
        _ = list.insert(entry, priority: priority.rawValue)
    }

    /// The channel was deallocated.
    func forget(_ list: ListenerList) {
        let entry = forwarders.withLock { $0.removeValue(forKey: list.address) }
        withExtendedLifetime(entry) {}
    }

    /// Removes the forwarders from every channel.
    func detach() {
        let entries = forwarders.withLock { forwarders in
            defer { forwarders = [:] }
            return Array(forwarders.values)
        }
        for entry in entries { entry.cancel() }
    }
}
