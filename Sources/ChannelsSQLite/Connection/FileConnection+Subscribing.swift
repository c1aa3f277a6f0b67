#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Subscribes, and stores and watches last values.
extension FileConnection {
    typealias Finish<Result> = (Swift.Result<Result, any Error>) -> Void

    /// - Parameter start: Only for the first subscription of a connection.
    func subscribe(
        to pattern: ChannelPattern,
        from start: ReplayStart,
        _ queue: HandlerQueue<InboundMessage>,
        _ finish: Finish<Void>
    ) {
        finish(
            read { try SQLiteSchema.position(of: start, $0) }.map { position in
                reading.add(SQLiteReading.Plain(pattern: pattern, after: position, queue: queue))
            }
        )
    }

    func subscribe(_ name: SQLiteDurableName, _ finish: @escaping Finish<Void>) {
        var joined: (cursor: SQLiteCursor, last: Int64)?
        add(
            CommitQueue.Change(kind: .task) { db, session in
                try Self.join(db, session)
                joined = (try name.join(session.token, db), try SQLiteSchema.lastNumber(db))
            } end: { [unowned self] error in
                if let error { return finish(.failure(error)) }
                let (cursor, last) = joined!  // it was made before the commit
                if closed == nil {
                    places[name.pattern, default: []].append(reading.cursors.count)
                    reading.add(cursor, last: last)
                }
                // Nil, so that the next look finds out who the other members are.
                version = nil
                schedule.hint(environment.now())
                finish(.success(()))
            }
        )
    }

    func watch(_ pattern: ChannelPattern, _ queue: HandlerQueue<StoredValue>, _ finish: Finish<Void>) {
        finish(
            read { db in
                var values: [StoredValue] = []
                try SQLiteValues.each(after: 0, db, where: pattern.matches) { values.append($0) }
                return (values, try SQLiteValues.lastRevision(db))
            }.map { (values, last) in
                for value in values { queue.enqueue(raise(value)) }
                queue.deliver()
                reading.watched.append(SQLiteReading.Watched(pattern: pattern, queue: queue, seen: last))
            }
        )
    }

    /// Stores a last value. The revision is nil if there already is a value and `ifNone` is true.
    func store(_ message: TransportMessage, ifNone: Bool, _ finish: @escaping Finish<UInt64?>) {
        var revision: UInt64?
        add(
            CommitQueue.Change(kind: .task) { db, _ in
                revision = try SQLiteValues.store(message, ifNone: ifNone, db)
            } end: { [unowned self] error in
                if let error { return finish(.failure(error)) }
                finish(.success(revision.map { raise(StoredValue(message, revision: $0)).revision }))
            }
        )
    }

    /// Ends the subscriptions that are not durable.
    func drain() -> [HandlerQueue<InboundMessage>] {
        defer { reading.plain = [] }
        return reading.plain.map(\.queue)
    }

    /// Enters durable names again that are used here but that somebody has removed.
    func enterAgain(_ places: [Int]) {
        let names = places.map { reading.cursors[$0].name }
        var joined: [SQLiteCursor] = []
        add(
            CommitQueue.Change(kind: .upkeep) { db, session in
                joined = try names.map { try $0.join(session.token, db) }
            } end: { [unowned self] error in
                guard error == nil else { return }
                for (place, cursor) in zip(places, joined) {
                    reading.cursors[place].enter(cursor)
                    let name = "the durable name \(cursor.name.name.text) on \(cursor.name.pattern.text)"
                    let detail = "\(configuration.path): \(name) was removed: it begins again as one that is new"
                    tell(.failed(BridgeError(.messagesLost, detail: detail)))
                }
            }
        )
    }

    /// Reads for a caller that is waiting.
    private func read<Result>(_ body: (Database) throws -> Result) -> Swift.Result<Result, any Error> {
        do {
            if hasEnded || closed != nil { throw BridgeError(.closed) }
            guard let session else {
                throw commits.trouble?.reason
                    ?? BridgeError(.notConnected, detail: "\(configuration.path): not open yet")
            }
            return .success(try session.read(body))
        } catch is FileSession.WentBack {
            beginAgain(environment.now())
            return session == nil
                ? .failure(BridgeError(.notConnected, detail: "\(configuration.path): it is being opened again"))
                : read(body)
        } catch { return .failure(error) }
    }

    // MARK: Retention

    /// When to remove old messages next; nil if that is not done now.
    var nextRemoval: Instant? { closed == nil && !configuration.isObserver && canRead ? retention.due : nil }

    /// Removes a portion of the messages that are beyond the limits now.
    var removal: SQLiteRemoval {
        SQLiteRemoval(
            limits: configuration.retention,
            passed: Dictionary(reading.cursors.map { ($0.id, $0.passed) }) { max($0, $1) },
            time: environment.wallClock()
        )
    }

    /// Removes messages beyond the limits, a portion per turn, and then shortens the write-ahead log.
    func removeOld(_ now: Instant) {
        guard nextRemoval != nil, retention.begins(now) else { return }
        let removal = removal
        var isDone = false
        add(
            CommitQueue.Change(kind: .upkeep) { db, _ in
                isDone = try removal.remove(db)
            } end: { [unowned self] error in
                retention.removed(isDone: isDone || error != nil, environment.now())
                if isDone { session?.shortenLog() }
            }
        )
    }
}
#endif
