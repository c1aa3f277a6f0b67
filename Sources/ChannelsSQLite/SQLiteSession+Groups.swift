#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// How the members of a group share the messages that are not durable, in one process or several: each message is the
/// turn of one of those that are there and whose pattern matches. If that one does not take it, another does.
extension SQLiteSession {
    /// How long a message is left to the member whose turn it is.
    private static let patience = 0.2

    /// Enters this connection as a member, or says that it is still there.
    func joinGroups() async throws {
        let members = state.withLock { $0.plain.compactMap { plain in plain.group.map { ($0, plain.pattern.text) } } }
        guard !members.isEmpty else { return }
        let (holder, lease) = (holder, lease)
        try await file.write { db in
            for (group, pattern) in members {
                try db.execute(
                    sql:
                        "INSERT OR REPLACE INTO channels_members (group_name, holder, pattern, due) VALUES (?, ?, ?, ?)",
                    arguments: [group, holder, pattern, Timestamp.now.secondsSince1970 + lease]
                )
            }
        }
    }

    /// Takes those of a group's messages whose turn it is here, or that others have left, in order.
    func share(_ group: String) async {
        let now = Timestamp.now.secondsSince1970
        let items = state.withLock { state in
            defer { state.shared[group] = [] }
            return state.shared[group] ?? []
        }
        guard !items.isEmpty else { return }
        let holder = holder
        let left = Locked<[Shared]>([])
        do {
            let taken = try await file.write { db in
                left.withLock { $0 = [] }
                let members = try Row.fetchAll(
                    db,
                    sql:
                        "SELECT holder, pattern FROM channels_members WHERE group_name = ? AND due > ? ORDER BY holder",
                    arguments: [group, now]
                ).map { row in
                    (holder: row["holder"] as String, pattern: try ChannelPattern(validating: row["pattern"]))
                }
                let claim = try db.cachedStatement(
                    sql: "INSERT OR IGNORE INTO channels_claims (group_name, number) VALUES (?, ?)"
                )
                return try items.filter { item in
                    let matching = members.filter { $0.pattern.matches(item.found.subject) }
                    let isMine = matching.isEmpty || matching[Int(item.found.number) % matching.count].holder == holder
                    guard isMine || item.seen + Self.patience <= now else {
                        left.withLock { $0.append(item) }
                        return false
                    }
                    try claim.execute(arguments: [group, item.found.number])
                    return db.changesCount > 0
                }
            }
            for item in taken { deliver(item.found, in: group) }
        } catch {
            report(error)
            left.withLock { $0 = items }
        }
        let rest = left.withLock { $0 }
        guard !rest.isEmpty else { return }
        state.withLock { $0.shared[group] = rest + ($0.shared[group] ?? []) }
        Task {
            try? await Task.sleep(for: .seconds(Self.patience))
            commands.yield(.share(group: group))
        }
    }

    /// Hands a message to one of the members on this connection.
    private func deliver(_ item: Found, in group: String) {
        guard let message = item.message else { return }
        let queue = state.withLock { state -> HandlerQueue<InboundMessage>? in
            let members = state.plain.filter {
                $0.group == group && item.number > $0.after && $0.pattern.matches(item.subject)
            }
            state.turn += 1
            return members.isEmpty ? nil : members[state.turn % members.count].queue
        }
        queue?.enqueue(InboundMessage(message))
        queue?.deliver()
    }

    /// Leaves the groups: others take the turns of this connection.
    static func leaveGroups(_ holder: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM channels_members WHERE holder = ?", arguments: [holder])
    }
}
#endif
