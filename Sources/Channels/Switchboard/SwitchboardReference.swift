/// Lets channels find their switchboard. The references are weak, because the switchboard may hold the channels. All
/// channels share one object, which the switchboard holds, for two reasons: forming a weak reference allocates, and a
/// side table to which nothing points, as with ``Switchboard/shared``, looks like a leak to the leak sanitizer.
final class SwitchboardReference: @unchecked Sendable {  // written once, before the switchboard is shared
    private(set) weak var registry: Registry?
    private(set) weak var patterns: PatternListeners?
    weak var switchboard: Switchboard?

    init(_ registry: Registry, _ patterns: PatternListeners) {
        self.registry = registry
        self.patterns = patterns
    }
}

/// Notifies the switchboard of changes to a named channel's list.
final class NamedChannelDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initializer only
    private let key: NameKey
    private let reference: SwitchboardReference
    /// The channel, if it is kept only while it has listeners.
    private weak var channel: AnyObject?
    /// The next delegate to notify.
    private let next: (any ListenerListDelegate)?

    init(
        _ key: NameKey,
        _ reference: SwitchboardReference,
        keeping channel: AnyObject?,
        _ next: (any ListenerListDelegate)?
    ) {
        self.key = key
        self.reference = reference
        self.channel = channel
        self.next = next
    }

    func didChangeListening(in list: ListenerList) {
        guard let channel, let registry = reference.registry else { return }
        registry.withShard(of: key) { $0.didChangeListening(key, channel, list) }
    }

    func didClose(_ list: ListenerList) { reference.switchboard?.hasClosed(list, key) }

    func resume(_ entry: ListenerEntry) -> Bool { next?.resume(entry) ?? false }
}
