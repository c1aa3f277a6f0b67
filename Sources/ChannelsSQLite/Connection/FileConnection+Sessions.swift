#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Begins and ends sessions, and the connection.
extension FileConnection {
    /// Opens the file, and restarts the subscriptions, if there are any.
    func open(_ now: Instant) {
        do {
            let new = try FileSession(configuration, environment)
            let lost: [String]
            do { lost = try enter(new) } catch {
                new.end()
                throw error
            }
            hasOpened(new, lost, now)
        } catch is FileSession.WentBack { nextOpening = now } catch {
            let error = BridgeError(error, path: configuration.path)
            fail(error, now)
            nextOpening = commits.blocked(now)
            guard let opened, !error.isLock || commits.isLate else { return }
            self.opened = nil
            hasEnded = true
            opened(error)
        }
    }

    private func hasOpened(_ new: FileSession, _ lost: [String], _ now: Instant) {
        (session, version) = (new, nil)
        sessionCount += 1
        nextCheck = now + LookSchedule.net
        schedule.hint(now)
        if let opened {
            self.opened = nil
            _ = commits.committed(nil, [:])
            return opened(nil)
        }
        committed(nil, [:], now)
        let detail = """
            \(configuration.path): the file was replaced by an older copy, or does not know this process any more: what was stored \
            since may be lost, and what was settled since is delivered again
            """
        tell(.failed(BridgeError(.messagesLost, detail: detail)))
        if revisions.highest > 0 || !reading.watched.isEmpty { tell(.lastValuesLost(subject: nil)) }
        for subject in lost { tell(.lastValuesLost(subject: subject)) }
    }

    /// Restarts the subscriptions of the previous session in a new one.
    ///
    /// - Returns: The subjects that are watched by name and have no value.
    private func enter(_ new: FileSession) throws -> [String] {
        let subjects = Set(reading.watched.compactMap { $0.pattern.onlyName.map { ExactText($0) } })
        func begin(_ db: Database) throws -> (cursors: [SQLiteCursor], last: Int64, lost: [String]) {
            // In an older copy of the file, the previous session may be a member that has ended, with the
            // messages that it held.
            if !reading.cursors.isEmpty { try Self.join(db, new) }
            let cursors = try reading.cursors.map { try $0.joinAgain(new.token, db) }
            let lost = try subjects.filter { try !SQLiteValues.isThere($0.text, db) }.map(\.text)
            return (cursors, try SQLiteSchema.lastNumber(db), lost)
        }
        // A session that is not a member writes nothing.
        let found = try reading.cursors.isEmpty ? new.read(begin) : new.write(isSynchronized: false, begin)
        reading.begin(found.cursors, last: found.last)
        // So that revisions are higher than all before.
        revisions.base = revisions.highest
        return found.lost
    }

    /// Ends the session because the file was replaced or restored. Everything known about the file ends with
    /// it.
    func beginAgain(_ now: Instant) {
        guard let old = session else { return }
        old.end()
        (session, others, replacement) = (nil, [], nil)
        (releases, firstRelease) = ([], nil)
        commits.endSession()
        retention.removed(isDone: true, now)
        nextOpening = now
        open(now)
    }

    /// Makes the session a member, in a transaction, and frees what ended members held, so that it comes
    /// before new messages.
    static func join(_ db: Database, _ session: FileSession) throws {
        let token = try session.join()
        try db.execute(sql: "INSERT OR IGNORE INTO channels_members (token) VALUES (?)", arguments: [token])
        try removeEnded(db, session)
    }

    // MARK: Commits that succeed and fail

    /// Adds a change, or ends it at once if it is refused.
    func add(_ change: CommitQueue.Change) {
        if let error = hasEnded ? BridgeError(.closed) : commits.add(change) { change.end(error) }
    }

    /// Called when a transaction was committed.
    func committed(_ batch: CommitQueue.Batch?, _ failures: [Int: BridgeError], _ now: Instant) {
        // Requests that arrived meanwhile also come after the message that could not be stored.
        if !failures.isEmpty { for request in mailbox.take() { request(self) } }
        let (ends, trouble) = commits.committed(batch, failures)
        for (change, error) in ends { change.end(error) }
        guard let trouble else { return }
        tell(.reconnected(gap: trouble.duration(to: now), unsent: told.takeUnsent()))
        for place in reading.cursors.indices { reading.cursors[place].mayHaveMore = true }
        schedule.hint(now)
    }

    /// Called when the file could not be read, or nothing could be committed.
    func fail(_ error: any Error, of batch: CommitQueue.Batch? = nil, _ now: Instant) {
        let error = BridgeError(error, path: configuration.path)
        let (ends, trouble) = commits.failed(batch, error, now)
        // While the file is being opened for the first time, the caller of `connect` receives the error
        // instead.
        if let trouble, opened == nil {
            tell(.disconnected(reason: trouble))
            if told.isWorthTelling(trouble, now) { tell(.failed(trouble)) }
        }
        for (change, error) in ends { change.end(error) }
    }

    /// Called when a message that is not durable could not be stored. While the file is in trouble, such
    /// messages are only counted.
    func lose(_ error: BridgeError) {
        told.lose()
        if !error.concernsTheFile, error.code != .closed { tell(.failed(error)) }
    }

    func tell(_ event: TransportEvent) { onEvent(event) }

    // MARK: The end

    /// Commits what is waiting, leaves the held messages to others, and ends.
    ///
    /// - Parameter end: Called once the connection has ended, with the reason if something was not stored.
    func close(_ end: @escaping (BridgeError?) -> Void) {
        guard !hasEnded else { return end(nil) }
        closed = end
        reading.plain = []
        reading.watched = []
        (releases, firstRelease) = ([], nil)
        guard let session else {
            let reason =
                commits.trouble?.reason ?? BridgeError(.notConnected, detail: "\(configuration.path): not open")
            return finish(commits.count > 0 ? reason : nil)
        }
        if session.token.isEmpty && commits.count == 0 { return finish(nil) }
        add(
            CommitQueue.Change(kind: .last) { [unowned self] db, session in
                // Uses the session that exists by then.
                for var cursor in reading.cursors where cursor.isAhead { try cursor.save(db) }
                if !session.token.isEmpty { try Self.removeMember(session.token, db) }
                // A process may end before the first portion is due.
                if !configuration.isObserver { _ = try removal.remove(db) }
            } end: { [unowned self] in
                finish($0)
            }
        )
    }

    private func finish(_ error: BridgeError?) {
        session?.end()
        session = nil
        hasEnded = true
        for change in commits.close() where change.kind != .last { change.end(BridgeError(.closed)) }
        closed?(error)
        closed = nil
    }

    /// Ends as if the process had been killed, for a simulation.
    func kill() {
        session?.kill()
        session = nil
        hasEnded = true
    }
}

/// What was reported about troubles of a file, and how many messages were lost meanwhile.
struct TroubleReports {
    /// A problem that returns sooner than this is only shown in the status.
    private static let quiet = Duration.seconds(60)

    private var told: [String: ContinuousClock.Instant] = [:]
    private var unsent = 0

    /// Whether a problem should be reported.
    mutating func isWorthTelling(_ reason: BridgeError, _ now: ContinuousClock.Instant) -> Bool {
        let kind = reason.detail ?? "\(reason.code)"
        defer { told[kind] = now }
        return told[kind].map { $0.duration(to: now) > Self.quiet } ?? true
    }

    mutating func lose() { unsent += 1 }

    mutating func takeUnsent() -> Int {
        defer { unsent = 0 }
        return unsent
    }
}
#endif
