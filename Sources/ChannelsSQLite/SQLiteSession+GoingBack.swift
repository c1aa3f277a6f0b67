#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Handles a file that is no longer the same: an older copy was put in its place, or a durable name was
/// removed.
extension SQLiteSession {
    /// Starts all subscriptions again, because the file was restored to an older copy.
    func beginAgain() async {
        let epoch = file.epoch
        guard state.withLock({ $0.epoch != epoch }) else { return }
        let (names, isNew, watches) = state.withLock { state in
            // It is tried again where the file cannot be written.
            let isNew = state.toldEpoch != epoch
            if isNew {
                state.toldEpoch = epoch
                for index in state.watched.indices { (state.watched[index].seen, state.watched[index].body) = (0, nil) }
                // Higher than all revisions reported so far.
                state.revisions.base = state.revisions.highest
            }
            return (state.durable, isNew, state.revisions.highest > 0 || !state.watched.isEmpty)
        }
        if isNew {
            let detail = """
                \(file.path): the file was replaced by an older copy, or does not know this process any more: what was stored \
                since may be lost, and what was settled since is delivered again
                """
            fail(BridgeError(.messagesLost, detail: detail))
            if watches { tell(.lastValuesLost(subject: nil)) }
        }
        do {
            let (former, holder) = try renew()
            let last = try await file.write { db in
                if !holder.isEmpty {
                    // The copy may contain this member and its messages.
                    try Self.remove(former, db)
                    try db.execute(sql: "INSERT INTO channels_members VALUES (?)", arguments: [holder])
                }
                for name in names { try name.join(holder, db) }
                return try SQLiteSchema.lastNumber(db)
            }
            state.withLock { state in
                (state.epoch, state.lastNumber) = (epoch, last)
                for index in state.plain.indices { state.plain[index].after = last }
            }
            if state.withLock({ $0.plain.contains { $0.group != nil } }) { try await joinGroups() }
            for subject in try await subjectsWithoutValue() { tell(.lastValuesLost(subject: subject)) }
            ring()
        } catch {
            report(error)
            // Where the file cannot be written now, it is begun again when it can.
            file.settle({ _ in }) { [weak self] error in if error == nil { self?.commands.yield(.beginAgain) } }
        }
    }

    private func subjectsWithoutValue() async throws -> [String] {
        let subjects = Set(state.withLock { $0.watched.map(\.subject) })
        return try await file.read { db in try subjects.map(\.text).filter { try SQLiteValues.find($0, db) == nil } }
    }

    /// Somebody has removed durable names that are used here.
    func enterAgain(_ names: [SQLiteDurableName]) async throws {
        let holder = holder
        try await file.write { db in for name in names { try name.join(holder, db) } }
        for name in names {
            let detail = """
                \(file.path): the durable name \(name.name) on \(name.pattern.text) was removed: it begins again as one that is new
                """
            fail(BridgeError(.messagesLost, detail: detail))
        }
    }
}
#endif
