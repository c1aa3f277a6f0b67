public import Channels

/// A switchboard at one moment: every channel, protocol and pattern, with their listeners.
///
/// Other threads are not stopped while it is taken, so each count is exact for its own moment. A count that
/// is not kept is nil.
public struct SwitchboardSnapshot: Sendable {
    /// The named channels, by name.
    public let channels: [ChannelSnapshot]
    /// The protocol channels, by the name of the protocol.
    public let protocols: [ChannelSnapshot]
    /// The listeners to patterns, in the order of registration, each with its pattern as the name.
    public let patterns: [ChannelSnapshot]
    /// The watched channels, which have no name.
    public let watched: [ChannelSnapshot]
    /// The lanes of the actors and queues of these listeners.
    public let lanes: [LaneSnapshot]
}

extension Switchboard {
    /// Returns the switchboard as it is now.
    /// - Complexity: O(*n*) in the number of listeners.
    public func snapshot() -> SwitchboardSnapshot {
        let shown = shown
        var lanes = LaneSnapshots()
        func snapshots(_ channels: [ShownChannel]) -> [ChannelSnapshot] { channels.map { $0.snapshot(&lanes) } }
        let channels = snapshots(shown.channels)
        let protocols = snapshots(shown.protocols)
        let patterns = snapshots(shown.patterns)
        let watched = snapshots(shown.watched)
        return SwitchboardSnapshot(
            channels: channels,
            protocols: protocols,
            patterns: patterns,
            watched: watched,
            lanes: lanes.all
        )
    }
}
