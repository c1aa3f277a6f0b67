#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// How the members of a group share the messages that are not durable, in one process or several.
extension SQLiteSession {
    /// How many messages a member of a group takes at a time, and how long it leaves those that are not its first choice to
    /// others. So all members get some, also where one always looks first.
    private static let (mostClaimed, patience) = (16, Duration.milliseconds(3))

    /// Takes those of a group's messages that no other member has taken, in order: at first those that are this one's first
    /// choice, up to the next that is not.
    func share(_ group: String, isPatient: Bool) async {
        let items = state.withLock { state -> [Found] in
            let items = state.shared[group] ?? []
            let chosen =
                isPatient
                ? items.prefix { isFirstChoice($0.number) } : items.prefix(max(Self.mostClaimed, items.count / 32))
            state.shared[group] = Array(items.dropFirst(chosen.count))
            return Array(chosen)
        }
        do { try await take(items, in: group) } catch {
            if let error = error as? BridgeError, error.code != .closed { fail(error) }
        }
        guard state.withLock({ $0.shared[group]?.isEmpty == false }) else { return }
        Task {
            try? await Task.sleep(for: Self.patience)
            commands.yield(.share(group: group))
        }
    }

    /// About half of all messages, others for each connection.
    private func isFirstChoice(_ number: Int64) -> Bool {
        var hasher = Hasher()
        hasher.combine(holder)
        hasher.combine(number)
        return hasher.finalize() & 1 == 0
    }

    private func take(_ items: [Found], in group: String) async throws {
        guard !items.isEmpty else { return }
        let numbers = items.map(\.number)
        let claimed = try await file.write { db in
            let statement = try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO channels_claims (group_name, number) VALUES (?, ?)"
            )
            return try numbers.filter { number in
                try statement.execute(arguments: [group, number])
                return db.changesCount > 0
            }
        }
        let mine = Set(claimed)
        for item in items where mine.contains(item.number) {
            guard let message = item.message else { continue }
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
}
#endif
