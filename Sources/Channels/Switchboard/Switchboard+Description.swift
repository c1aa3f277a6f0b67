/// A channel as it is shown in a switchboard's description or a snapshot.
package struct ShownChannel {
    /// The channel's name, protocol or pattern, or its message type if it has none of these.
    package let name: String
    package let kind: ChannelKind
    package let messageType: String
    /// The list; nil for a name that is posted to but has no channel, because nobody listens.
    package let list: ListenerList?
    /// The number of posts to a name without a channel.
    package let unreceivedCount: Int

    package init(_ name: String, _ kind: ChannelKind, _ messageType: String, _ list: ListenerList?, unreceived: Int = 0)
    {
        self.name = name
        self.kind = kind
        self.messageType = messageType
        self.list = list
        unreceivedCount = unreceived
    }

    package var listeners: [ShownListener] { list?.shown ?? [] }
}

/// What is on a switchboard at one moment.
package struct ShownSwitchboard {
    /// The named channels, sorted by name.
    package let channels: [ShownChannel]
    /// The protocol channels, sorted by the name of the protocol.
    package let protocols: [ShownChannel]
    /// The listeners to patterns, in the order of registration.
    package let patterns: [ShownChannel]
    /// Other channels that are also shown, because the diagnostics watch them.
    package let watched: [ShownChannel]
}

extension Switchboard {
    /// What is on the switchboard now.
    package var shown: ShownSwitchboard {
        var channels: [ShownChannel] = []
        var seen: Set<UInt> = []
        // A channel kept for posts is included only if its posts are counted.
        for (slot, _) in registry.channels
        where (!slot.isKept || slot.list.isObserved) && seen.insert(slot.list.address).inserted {
            channels.append(ShownChannel(slot.displayName, slot.kind.kind, slot.kind.types, slot.list))
        }
        let names = Set(channels.map { ExactText($0.name) })
        for (name, type, posts) in instrument?.unreceived ?? [] where !names.contains(ExactText(name)) {
            channels.append(ShownChannel(name, .messages, "\(type)", nil, unreceived: posts))
        }
        let protocols = protocols.all.map { $0.list }.map {
            ShownChannel($0.displayName, .protocol, $0.displayName, $0)
        }
        return ShownSwitchboard(
            channels: channels.sorted { $0.name < $1.name },
            protocols: protocols.sorted { $0.name < $1.name },
            patterns: patterns.all.map { ShownChannel($0.hub.displayName, .pattern, "any Sendable", $0.hub) },
            watched: instrument?.watched ?? []
        )
    }

    /// Visits the list of every channel, protocol and pattern.
    package func forEachList(_ body: (ListenerList) -> Void) {
        for (slot, _) in registry.channels { body(slot.list) }
        for channel in protocols.all { body(channel.list) }
        for listener in patterns.all { body(listener.hub) }
    }

    /// The most names that have been visited in one critical section. For tests.
    package var mostNamesVisitedAtOnce: Int { registry.mostVisitedAtOnce }
}

extension Switchboard: CustomStringConvertible {
    /// A table with a line for each channel, for each of its listeners, and for each lane in which messages wait.
    public var description: String {
        let shown = shown
        var count = 0
        var lines = ""
        var lanes: [ObjectIdentifier: ShownLane] = [:]
        for channel in shown.channels + shown.watched + shown.protocols + shown.patterns {
            lines += "\n\(channel.name): "
            switch channel.kind {
            case .messages: lines += channel.messageType
            case .pattern: lines += "pattern"
            default: lines += "\(channel.kind) \(channel.messageType)"
            }
            let unreceived = channel.unreceivedCount
            if unreceived > 0 { lines += ", \(counted(unreceived, "post")), \(unreceived) unreceived" }
            lines += channel.list?.activeInstrument?.summary ?? ""
            for listener in channel.listeners {
                lines += "\n  \(listener)"
                // A pattern's listener is in each matching channel, but is counted only once.
                if listener.entry.deliveryKind != .pattern { count += 1 }
                if let lane = listener.entry.lane { lanes[lane.id] = lane }
            }
        }
        for lane in lanes.values.sorted(by: { $0.name < $1.name }) {
            let waiting = lane.waitingCount
            if waiting > 0 { lines += "\nlane \(lane.name), \(waiting) waiting" }
        }
        let (channels, protocols) = (shown.channels.count + shown.watched.count, shown.protocols.count)
        let total = "\(counted(channels, "channel")), \(counted(protocols, "protocol"))"
        return "Switchboard: \(total), \(counted(shown.patterns.count, "pattern")), \(counted(count, "listener"))"
            + lines
    }
}
