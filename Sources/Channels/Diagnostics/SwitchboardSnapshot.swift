/// A switchboard at one moment: every channel, protocol and pattern, and their listeners.
///
/// Taken without stopping other threads: each count is exact for its own moment. Counts that are not kept
/// (see ``Diagnostics``) are nil.
public struct SwitchboardSnapshot: Codable, Hashable, Sendable {
    /// The named channels, by name.
    public var channels: [ChannelSnapshot]
    /// The protocol channels, by the name of the protocol.
    public var protocols: [ChannelSnapshot]
    /// The listeners to patterns, in the order of registration; each name is a pattern.
    public var patterns: [ChannelSnapshot]
}

extension Switchboard {
    /// The switchboard as it is now.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func snapshot() -> SwitchboardSnapshot {
        SwitchboardSnapshot(
            channels: foundChannels().sorted { $0.name < $1.name }.map { channel in
                let (kind, type) = channel.kind.described
                return channel.list.snapshot(name: channel.name, kind: kind, messageType: type)
            },
            protocols: protocols.all
                .map { $0.list.snapshot(name: $0.list.displayName, kind: .protocol, messageType: $0.list.displayName) }
                .sorted { $0.name < $1.name },
            patterns: patterns.all.map {
                $0.hub.snapshot(name: $0.pattern.text, kind: .pattern, messageType: "any Sendable")
            }
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

extension ListenerList {
    fileprivate func snapshot(name: String, kind: ChannelKind, messageType: String) -> ChannelSnapshot {
        var interceptors: [ListenerSnapshot] = []
        var listeners: [ListenerSnapshot] = []
        forEachEntry { entry in
            guard entry.isActive, let level = entry.level?.object else { return }
            let owner = entry.owner
            guard owner != nil || !entry.hasOwner else { return }
            // The calls of responders are counted only with diagnostics on.
            let accounts = kind == .requests && counter == nil ? nil : entry.accounts
            let snapshot = ListenerSnapshot(
                ownerType: owner.map { "\(type(of: $0))" },
                priority: level.priority,
                delivery: level.isForInterceptors ? .interceptor : entry.delivery(kind),
                isPaused: entry.isPaused,
                registrationSite: entry.site.site,
                delivered: accounts?.delivered,
                waiting: accounts?.waiting,
                dropped: accounts?.dropped
            )
            if level.isForInterceptors { interceptors.append(snapshot) } else { listeners.append(snapshot) }
        }
        return ChannelSnapshot(
            name: name,
            kind: kind,
            messageType: messageType,
            posts: counter?.count,
            listeners: interceptors + listeners
        )
    }
}

extension ListenerEntry {
    fileprivate func delivery(_ kind: ChannelKind) -> ListenerSnapshot.Delivery {
        if isForwarder { return .pattern }
        if kind == .requests { return .responder }
        guard let mailbox else { return .direct }
        return switch mailbox.lane?.target {
        case .mainActor: .mainActor
        case .actor: .actor
        case .queue: .queue
        case .awaiting: .async
        case nil: .sequence
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
            + (protocols + patterns).flatMap(\.listeners)
        let total = all.count
        let counts = [
            (channels.count, "channel"), (protocols.count, "protocol"), (patterns.count, "pattern"),
            (total, "listener"),
        ]
        lines.append(counts.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: ", "))
        for channel in channels + protocols + patterns {
            var line = "\(channel.name): "
            switch channel.kind {
            case .messages: line += channel.messageType
            case .pattern: line += "pattern"
            case .state, .requests, .protocol, .local, .bridge:
                line += "\(channel.kind.rawValue) \(channel.messageType)"
            }
            if let posts = channel.posts { line += ", \(posts) \(posts == 1 ? "post" : "posts")" }
            lines.append(line)
            lines += channel.listeners.map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

extension Switchboard: CustomStringConvertible {
    /// Every channel and its listeners: ``snapshot()``, as a table.
    public var description: String { "Switchboard: \(snapshot())" }
}
