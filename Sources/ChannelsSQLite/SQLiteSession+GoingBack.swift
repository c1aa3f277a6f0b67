#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Handles a file that is no longer the same: an older copy was put in its place, or a durable name was
/// removed.
extension SQLiteSession {
    /// Starts all subscriptions again, because the file was restored to an older copy, and reports it once they have
    /// started: they receive what is stored by whoever is told.
    func beginAgain() async {
        let epoch = file.epoch
        let (isNew, names, groups, subjects) = state.withLock { state in
            (state.epoch != epoch, state.durable, Self.groups(of: state.plain), Set(state.watched.map(\.subject.text)))
        }
        guard isNew else { return }
        do {
            let (former, holder) = try renew()
            let enter: @Sendable (Database) throws -> (Int64, [String]) = { db in
                if !holder.isEmpty {
                    // The copy may contain this member and its messages.
                    try Self.remove(former, db)
                    try db.execute(sql: "INSERT INTO channels_members VALUES (?)", arguments: [holder])
                }
                for name in names { try name.join(holder, db) }
                try Self.enter(holder, in: groups, db)
                return (try SQLiteSchema.lastNumber(db), try subjects.filter { try SQLiteValues.find($0, db) == nil })
            }
            // One that is no member writes nothing.
            let (last, lost) = try await holder.isEmpty ? file.read(enter) : file.write(enter)
            let watches = state.withLock { state in
                (state.epoch, state.lastNumber) = (epoch, last)
                for index in state.plain.indices { state.plain[index].after = last }
                for index in state.watched.indices { (state.watched[index].seen, state.watched[index].body) = (0, nil) }
                // Higher than all revisions reported so far.
                state.revisions.base = state.revisions.highest
                return state.revisions.highest > 0 || !state.watched.isEmpty
            }
            let detail = """
                \(file.path): the file was replaced by an older copy, or does not know this process any more: what was stored \
                since may be lost, and what was settled since is delivered again
                """
            fail(BridgeError(.messagesLost, detail: detail))
            if watches { tell(.lastValuesLost(subject: nil)) }
            for subject in lost { tell(.lastValuesLost(subject: subject)) }
            ring()
        } catch {
            report(error)
            // Where the file cannot be written now, it is begun again when it can.
            file.settle({ _ in }) { [weak self] error in if error == nil { self?.commands.yield(.beginAgain) } }
        }
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
