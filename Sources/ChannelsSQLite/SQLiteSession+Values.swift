#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// The last values of subjects, for states.
extension SQLiteSession {
    func deliverValues() async throws {
        let subjects = Set(state.withLock { $0.watched.map(\.subject) })
        guard !subjects.isEmpty else { return }
        let epoch = file.epoch
        let values = try await file.read { db in
            try subjects.reduce(into: [:]) { $0[$1] = try SQLiteValues.find($1.text, db) }
        }
        let (reached, wentBack) = state.withLock { state in
            var reached: [HandlerQueue<StoredValue>] = []
            var wentBack = false
            for index in state.watched.indices {
                let value = values[state.watched[index].subject]
                let (seen, revision) = (state.watched[index].seen, value.map { Int64($0.revision) } ?? 0)
                // In a restored file, another value may have the revision.
                let isOther = revision == seen && value?.message.body != state.watched[index].body
                if revision < seen || isOther { wentBack = true }
                guard let value, revision > seen else { continue }
                (state.watched[index].seen, state.watched[index].body) = (revision, value.message.body)
                state.watched[index].queue.enqueue(value.raised(&state.revisions))
                reached.append(state.watched[index].queue)
            }
            return (reached, wentBack)
        }
        for queue in reached { queue.deliver() }
        if wentBack { file.goBack(from: epoch) }
    }

    /// Stores a value. Returns its revision; nil if there is one that is to stay.
    func store(_ message: TransportMessage, ifNone: Bool) async throws -> UInt64? {
        let value = try await file.write { db -> StoredValue? in
            try SQLiteValues.store(message, ifNone: ifNone, db).map { StoredValue(message, revision: $0) }
        }
        guard let value else { return nil }
        return state.withLock { value.raised(&$0.revisions).revision }
    }
}

extension StoredValue {
    /// With a revision that is higher than all before, also in a restored file.
    func raised(_ revisions: inout (base: UInt64, highest: UInt64)) -> StoredValue {
        let revision = revisions.base + self.revision
        revisions.highest = max(revisions.highest, revision)
        return StoredValue(message, revision: revision)
    }
}
#endif
