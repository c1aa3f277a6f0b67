/// A switchboard at one moment: every channel, protocol and pattern, and their listeners.
///
/// Taken without stopping other threads: each count is exact for its own moment. Counts that are not kept
/// (see ``Diagnostics``) are nil.
public struct SwitchboardSnapshot: Sendable {
    /// The named channels, by name.
    public let channels: [ChannelSnapshot]
    /// The protocol channels, by the name of the protocol.
    public let protocols: [ChannelSnapshot]
    /// The listeners to patterns, in the order of registration; each name is a pattern.
    public let patterns: [ChannelSnapshot]
    /// The channels without a name that are watched, see `Switchboard.watch(_:as:)`.
    public let watched: [ChannelSnapshot]
    /// The lanes of the actors and queues on which listeners of these channels run.
    public let lanes: [LaneSnapshot]
}

extension Switchboard {
    /// The switchboard as it is now.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func snapshot() -> SwitchboardSnapshot {
        var lanes = LaneSnapshots()
        var channels = foundChannels().map { channel in
            let (kind, type) = channel.kind.described
            return channel.list.snapshot(name: channel.name, kind: kind, messageType: type, &lanes)
        }
        let names = Set(channels.map(\.name))
        // Names to which somebody posts, and that have no channel because nobody listens.
        for unheard in observation.unheard where !names.contains(unheard.name) {
            channels.append(
                ChannelSnapshot(
                    name: unheard.name,
                    kind: .messages,
                    messageType: "\(unheard.type)",
                    posts: unheard.posts,
                    unheard: unheard.posts,
                    lostOwners: nil,
                    countedNanoseconds: nil,
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
            $0.hub.snapshot(name: $0.pattern.text, kind: .pattern, messageType: "any Sendable", &lanes)
        }
        let watched = observation.watched.map { _, watched in
            watched.list.snapshot(name: watched.name, kind: watched.kind, messageType: watched.messageType, &lanes)
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
    /// Every channel, once.
    private func foundChannels() -> [FoundChannel] {
        var found: [FoundChannel] = []
        var seen: Set<UInt> = []
        registry.forEachChannel { channel in
            if seen.insert(channel.list.address).inserted { found.append(channel) }
        }
        return found
    }

    /// The most names that have been visited under one section of a lock: for tests.
    package var mostNamesVisitedAtOnce: Int { registry.mostVisitedAtOnce }
}

extension ChannelContent {
    fileprivate var described: (ChannelKind, String) {
        switch self {
        case .messages(let type): (.messages, "\(type)")
        case .state(let type): (.state, "\(type)")
        case .requests(let request, let response): (.requests, "\(request) -> \(response)")
        }
    }
}

extension SwitchboardSnapshot: CustomStringConvertible {
    /// A readable table: a line per channel, and below it one per listener.
    public var description: String {
        var lines: [String] = []
        // The listener of a pattern is in each channel that matches, and counts once.
        let all =
            channels.flatMap { $0.listeners.filter { $0.delivery != .pattern } }
            + (protocols + patterns + watched).flatMap(\.listeners)
        let total = all.count
        let counts = [
            (channels.count + watched.count, "channel"), (protocols.count, "protocol"), (patterns.count, "pattern"),
            (total, "listener"),
        ]
        lines.append(counts.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: ", "))
        for channel in channels + watched + protocols + patterns {
            var line = "\(channel.name): "
            switch channel.kind {
            case .messages: line += channel.messageType
            case .pattern: line += "pattern"
            case .state, .requests, .protocol, .local, .bridge:
                line += "\(channel.kind.rawValue) \(channel.messageType)"
            }
            if let posts = channel.posts { line += ", \(posts) \(posts == 1 ? "post" : "posts")" }
            if let unheard = channel.unheard, unheard > 0 { line += ", \(unheard) unheard" }
            if let lost = channel.lostOwners, lost > 0 { line += ", \(lost) lost" }
            lines.append(line)
            lines += channel.posters.map { "  \($0)" }
            lines += channel.listeners.map { "  \($0)" }
        }
        lines += lanes.filter { $0.waiting > 0 || $0.longestWait != nil }.map { "\($0)" }
        return lines.joined(separator: "\n")
    }
}

extension Switchboard: CustomStringConvertible {
    /// Every channel and its listeners: ``snapshot()``, as a table.
    public var description: String { "Switchboard: \(snapshot())" }
}
