/// How channels find their switchboard, which may hold them: weakly.
///
/// One for all channels, and held by the switchboard itself: forming a weak reference costs an allocation,
/// and one that no reference points to while its object lives looks like a leak to the leak sanitizer, as
/// with ``Switchboard/shared``.
final class SwitchboardReference: @unchecked Sendable {  // written once, before the switchboard is shared
    private(set) weak var registry: Registry?
    weak var switchboard: Switchboard?

    init(_ registry: Registry) {
        self.registry = registry
    }
}

/// What a named channel's list tells the switchboard.
final class NamedChannelDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initialiser only
    private let key: NameKey
    private let reference: SwitchboardReference
    /// The channel, where it is kept only as long as somebody listens.
    private weak var channel: AnyObject?
    /// Who was told before.
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

    func listeningChanged(in list: ListenerList) {
        guard let channel, let registry = reference.registry else { return }
        registry.listeningChanged(key, channel, list)
    }

    func listHasClosed(_ list: ListenerList) {
        reference.switchboard?.hasClosed(list, key)
    }

    func resume(_ entry: ListenerEntry) -> Bool {
        next?.resume(entry) ?? false
    }
}
