/// A switchboard at one moment: every channel, protocol and pattern, with their listeners.
///
/// Other threads are not stopped: each count is exact for its own moment, and nil if it is not kept.
public struct SwitchboardSnapshot: Sendable {
    /// The named channels, by name.
    public let channels: [ChannelSnapshot]
    /// The protocol channels, by the name of the protocol.
    public let protocols: [ChannelSnapshot]
    /// The listeners to patterns in the order of registration. The name of each is its pattern.
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
        var lanes = LaneSnapshots()
        var channels: [ChannelSnapshot] = []
        var seen: Set<UInt> = []
        // One that is kept for posts is there if what is posted on it is counted.
        for (slot, _) in registry.channels
        where (!slot.isKept || slot.list.isObserved) && seen.insert(slot.list.address).inserted {
            let (name, content) = (slot.displayName, slot.kind)
            channels.append(
                slot.list.snapshot(name: name, kind: content.kind, messageType: content.types, &lanes)
            )
        }
        // Names to which somebody posts, and that have no channel because nobody listens.
        var unreceived = observation.unreceived
        for channel in channels { unreceived[ExactText(channel.name)] = nil }
        for (name, posted) in unreceived {
            channels.append(
                ChannelSnapshot(
                    name: name.text,
                    kind: .messages,
                    messageType: "\(posted.type)",
                    postCount: posted.posts,
                    unreceivedCount: posted.posts,
                    deallocatedOwnerCount: nil,
                    countingTime: nil,
                    posters: [],
                    messages: [],
                    listeners: []
                )
            )
        }
        let protocols = protocols.all.map {
            $0.list.snapshot(name: $0.list.displayName, kind: .protocol, messageType: $0.list.displayName, &lanes)
        }
        let patterns = patterns.all.map {
            $0.hub.snapshot(name: $0.hub.displayName, kind: .pattern, messageType: "any Sendable", &lanes)
        }
        var watched: [ChannelSnapshot] = []
        observation.forEachWatched {
            watched.append($0.list.snapshot(name: $0.name, kind: $0.kind, messageType: $0.messageType, &lanes))
        }
        return SwitchboardSnapshot(
            channels: channels.sorted { $0.name < $1.name },
            protocols: protocols.sorted { $0.name < $1.name },
            patterns: patterns,
            watched: watched,
            lanes: lanes.all
        )
    }
}

extension Switchboard {
    /// The most names that have been visited under one section of a lock: for tests.
    package var mostNamesVisitedAtOnce: Int { registry.mostVisitedAtOnce }
}

extension SwitchboardSnapshot: CustomStringConvertible {
    /// A table: a line for each channel and for each of its listeners.
    public var description: String {
        var count = 0
        var lines = ""
        for channel in channels + watched + protocols + patterns {
            lines += "\n\(channel.name): "
            switch channel.kind {
            case .messages: lines += channel.messageType
            case .pattern: lines += "pattern"
            default: lines += "\(channel.kind) \(channel.messageType)"
            }
            if let posts = channel.postCount { lines += ", \(counted(posts, "post"))" }
            if let unreceived = channel.unreceivedCount, unreceived > 0 { lines += ", \(unreceived) unreceived" }
            if let gone = channel.deallocatedOwnerCount, gone > 0 { lines += ", \(counted(gone, "owner")) deallocated" }
            for poster in channel.posters { lines += "\n  \(poster.line)" }
            for listener in channel.listeners {
                lines += "\n  \(listener)"
                // The listener of a pattern is in each channel that matches, and counts once.
                if listener.delivery != .pattern { count += 1 }
            }
        }
        for lane in lanes where lane.waitingCount > 0 || lane.longestWait != nil { lines += "\n\(lane.line)" }
        let total = counted(channels.count + watched.count, "channel") + ", " + counted(protocols.count, "protocol")
        return "\(total), \(counted(patterns.count, "pattern")), \(counted(count, "listener"))" + lines
    }
}

extension Switchboard: CustomStringConvertible {
    /// Every channel and its listeners: ``snapshot()``, as a table.
    public var description: String { "Switchboard: \(snapshot())" }
}
