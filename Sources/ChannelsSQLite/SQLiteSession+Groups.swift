#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// How the members of a group share the messages that are not durable, in one process or several: each message is the
/// turn of one of those that are there and whose pattern matches. If that one does not take it, another does.
extension SQLiteSession {
    /// A message that the members of a group may take, and when it was first seen.
    struct Shared: Sendable {
        let found: Found
        let seen: ContinuousClock.Instant
    }

    /// How long a message is left to the member whose turn it is.
    private static let patience = Duration.milliseconds(200)

    /// Enters this connection as a member of its groups.
    func joinGroups() async throws {
        let groups = state.withLock { Self.groups(of: $0.plain) }
        let member = try await join()
        try await file.write { try Self.enter(member, in: groups, $0) }
    }

    static func groups(of plain: [Plain]) -> [(name: String, pattern: String)] {
        plain.compactMap { plain in plain.group.map { ($0.text, plain.pattern.text) } }
    }

    static func enter(_ member: String, in groups: [(name: String, pattern: String)], _ db: Database) throws {
        for (group, pattern) in groups {
            try db.execute(
                sql: "INSERT OR IGNORE INTO channels_groups (name, member, pattern) VALUES (?, ?, ?)",
                arguments: [group, member, pattern]
            )
        }
    }

    /// Takes those of a group's messages whose turn it is here, or that others have left, in order.
    func share(_ group: ExactText) async {
        let now = ContinuousClock.now
        let items = state.withLock { state in
            defer { state.shared[group] = [] }
            return state.shared[group] ?? []
        }
        guard !items.isEmpty else { return }
        let (name, holder) = (group.text, holder)
        var left: [Shared] = []
        do {
            let taken: [Shared]
            (taken, left) = try await file.take { db in
                var (taken, left) = ([Shared](), [Shared]())
                let members = try Row.fetchAll(
                    db,
                    sql: "SELECT member, pattern FROM channels_groups WHERE name = ? ORDER BY member",
                    arguments: [name]
                ).map { row in
                    (token: row["member"] as String, pattern: try ChannelPattern(validating: row["pattern"]))
                }
                let claim = try db.cachedStatement(
                    sql: "INSERT OR IGNORE INTO channels_claims (group_name, number) VALUES (?, ?)"
                )
                for item in items {
                    let matching = members.filter { $0.pattern.matches(item.found.subject) }
                    let isMine = matching.isEmpty || matching[Int(item.found.number) % matching.count].token == holder
                    if isMine || item.seen.duration(to: now) >= Self.patience {
                        try claim.execute(arguments: [name, item.found.number])
                        if db.changesCount > 0 { taken.append(item) }
                    } else {
                        left.append(item)
                    }
                }
                return (taken, left)
            }
            for item in taken { deliver(item.found, in: group) }
        } catch {
            report(error)
            left = items
        }
        guard !left.isEmpty else { return }
        state.withLock { $0.shared[group] = left + ($0.shared[group] ?? []) }
        Task {
            try? await Task.sleep(for: Self.patience)
            commands.yield(.share(group: group))
        }
    }

    /// Hands a message to one of the members on this connection.
    private func deliver(_ item: Found, in group: ExactText) {
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
}
#endif
