#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// A connection of a transport: everything known about its file, and what is waiting to be written to it.
///
/// Only its thread uses it, which calls ``turn(_:)`` again and again. A turn:
/// 1. opens the file if there is no session, and restarts the subscriptions;
/// 2. checks whether the file is still the same, and whether others have committed something;
/// 3. in one transaction, commits everything that is waiting, reads what is new, and claims messages for the
///    durable names that have room; if there is nothing to write, or others have locked the file, it only
///    reads;
/// 4. delivers what it has read and claimed;
/// 5. returns when it has to be called next.
///
/// It never waits: if another program has locked the file, it is called again soon. If the file is replaced
/// or an older copy is restored, the session ends, and with it what was read, held or to be settled.
final class FileConnection {
    typealias Instant = ContinuousClock.Instant

    let configuration: SQLiteConfiguration
    let mailbox: FileMailbox
    let environment: FileEnvironment
    let onEvent: @Sendable (TransportEvent) -> Void
    /// Called once the file is open for the first time, or could not be opened.
    var opened: ((BridgeError?) -> Void)?

    var session: FileSession?
    /// How many sessions there have been.
    var sessionCount = 0
    var reading = SQLiteReading()
    /// The places of the durable names in what is read, by their patterns.
    var places: [ChannelPattern: [Int]] = [:]
    var commits: CommitQueue
    var schedule: LookSchedule
    var retention: SQLiteRetention
    /// Messages to be released later, and when the first of them is due.
    var releases: [(due: Instant, holding: SQLiteDelivery.Holding)] = []
    var firstRelease: Instant?

    /// The version of the file when it was last read.
    var version: Int?
    var nextCheck: Instant
    var nextOpening: Instant
    /// A file that is now in the place of the open one, as it was at the last check.
    var replacement: (identity: FileIdentity?, size: Int, modified: Double?)?
    var others: [SQLiteMember] = []
    /// The offset that is added to the revisions of the file, so that they still increase after an older copy
    /// was restored, and the highest revision so far.
    var revisions: (base: UInt64, highest: UInt64) = (0, 0)
    var told = TroubleReports()
    private var hasWritten = false
    var hasEnded = false
    var closed: ((BridgeError?) -> Void)?

    init(
        _ configuration: SQLiteConfiguration,
        _ mailbox: FileMailbox,
        _ environment: FileEnvironment,
        onEvent: @escaping @Sendable (TransportEvent) -> Void,
        opened: @escaping (BridgeError?) -> Void
    ) {
        (self.configuration, self.mailbox, self.environment) = (configuration, mailbox, environment)
        (self.onEvent, self.opened) = (onEvent, opened)
        let now = environment.now()
        commits = CommitQueue(busyTimeout: configuration.busyTimeout)
        (schedule, retention) = (LookSchedule(now), SQLiteRetention(now))
        (nextCheck, nextOpening) = (now, now)
    }

    // MARK: The turn

    /// - Returns: When to call it next, unless a request arrives first; nil if the connection has ended.
    func turn(_ now: Instant) -> Instant? {
        if session == nil, !hasEnded, nextOpening <= now { open(now) }
        if let session {
            do {
                // The check and the look come together, so that an idle thread is woken once a second.
                let isDue = nextCheck <= now
                if isDue { try check(session, now) }
                try work(session, looks: isDue || schedule.next <= now, now)
            } catch is FileSession.WentBack { beginAgain(now) } catch { fail(error, now) }
        }
        return hasEnded ? nil : next(now)
    }

    private func work(_ session: FileSession, looks: Bool, _ now: Instant) throws {
        addDueReleases(now)
        removeOld(now)
        var isNew = false
        if canRead, looks {
            let found = try session.version()
            isNew = found != version
            // Recorded first, so that there is another look even if reading fails.
            schedule.looked(now, found: false, until: now)
            if isNew {
                schedule.wrote(now)
                commits.othersCommitted()
            }
            // Set before the exchange, because a name that subscribes during it sets this to nil to request
            // another look.
            let known = version
            version = found
            do { try exchange(session, isNew, now) } catch {
                version = known
                throw error
            }
            guard isNew, self.session === session, version == found else { return }
            schedule.looked(now, found: true, until: environment.now())
        } else {
            try exchange(session, false, now)
        }
    }

    /// Whether the file can be read: at worst, a lock keeps it from being written.
    var canRead: Bool { commits.trouble?.reason.isLock ?? true }

    /// Commits, reads, claims and delivers.
    private func exchange(_ session: FileSession, _ isNew: Bool, _ now: Instant) throws {
        var needsReading = isNew || reading.hasMore
        if try write(session, needsReading, ofOthers: isNew, now) { needsReading = false }
        guard needsReading, canRead, self.session === session else { return }
        try read(session, ofOthers: isNew)
        // A second time, to claim what was found.
        _ = try write(session, false, ofOthers: false, now)
    }

    private func read(_ session: FileSession, ofOthers: Bool) throws {
        var new = reading
        let found = try session.read { try new.read($0, ofOthers: ofOthers) }
        reading = new
        deliver(found, [])
    }

    /// Commits what is waiting and claims what it can, unless the file is locked.
    ///
    /// - Returns: Whether it committed, and so also read what is new.
    private func write(_ session: FileSession, _ reads: Bool, ofOthers: Bool, _ now: Instant) throws -> Bool {
        let claims = canClaim && commits.blocked(now) <= now
        let batch = commits.next(now)
        guard batch != nil || claims else { return false }
        let reads = reads || batch?.makesNews ?? false
        var new = reading
        var (found, failures) = (SQLiteReading.Found(), [Int: BridgeError]())
        var claiming = SQLiteClaiming([], token: session.token)
        do {
            try session.write(isSynchronized: batch?.isSynchronized ?? false, isProbe: batch?.isProbe ?? false) { db in
                failures = try batch?.make(db, session) ?? [:]
                if reads { found = try new.read(db, ofOthers: ofOthers || batch?.makesNews ?? false) }
                claiming = SQLiteClaiming(new.cursors, token: session.token)
                if closed == nil { try claiming.claim(db) }  // while closing, nobody would settle them
            }
        } catch is FileSession.WentBack { throw FileSession.WentBack() } catch {
            let error = BridgeError(error, path: session.path)
            fail(error, of: batch, now)
            return false
        }
        hasWritten = true
        schedule.wrote(now)
        new.cursors = claiming.cursors
        reading = new
        committed(batch, failures, now)
        deliver(found, claiming.claims)
        if !claiming.missing.isEmpty { enterAgain(claiming.missing) }
        return reads
    }

    /// When there is something to do next.
    private func next(_ now: Instant) -> Instant {
        guard session != nil else { return nextOpening }
        var next = min(nextCheck, nextRemoval ?? nextCheck)
        if canRead { next = min(next, schedule.next) }
        if let due = commits.due(now) { next = min(next, due) }
        if let firstRelease { next = min(next, firstRelease) }
        if canClaim { next = min(next, commits.blocked(now)) }
        if canRead, reading.hasMore { next = min(next, commits.blocked(now)) }
        return next
    }

    /// Whether there is something to claim and no trouble.
    private var canClaim: Bool { closed == nil && commits.trouble == nil && reading.wantsToClaim }

    // MARK: Hints

    /// The files that the system should watch.
    var watchList: WatchList {
        guard let session else { return WatchList() }
        return WatchList(log: session.log, session: sessionCount, members: Set(others.map(\.path)))
    }

    var isWatching: Bool {
        get { schedule.isWatching }
        set { schedule.isWatching = newValue }
    }

    func logIsWritten(_ now: Instant) { schedule.hint(now) }

    func memberHasClosed() { nextCheck = environment.now() }

    /// Returns whether it has written since the last call.
    func takeHasWritten() -> Bool {
        defer { hasWritten = false }
        return hasWritten
    }

    // MARK: Looking at the file

    /// Checks once a second what nobody reports: whether the files are there, and whether other members have
    /// ended.
    private func check(_ session: FileSession, _ now: Instant) throws {
        nextCheck = now + LookSchedule.net
        do { try session.check() } catch {
            guard isReplaced(session) else { throw error }
            throw FileSession.WentBack()
        }
        // If the others cannot find its file, they take this session for one that has ended.
        guard session.isKnownToOthers else { throw FileSession.WentBack() }
        guard others.contains(where: \.hasEnded) else { return }
        others.removeAll(where: \.hasEnded)
        add(CommitQueue.Change(kind: .upkeep) { try Self.removeEnded($0, $1) })
    }

    /// Whether another file has been in the place of this one for a second without changing. Until then, it
    /// may still be being copied.
    private func isReplaced(_ session: FileSession) -> Bool {
        guard session.isReplacedWhole else {
            replacement = nil
            return false
        }
        let found = (FileIdentity(session.path), FileIdentity.size(session.path), FileIdentity.modified(session.path))
        defer { replacement = found }
        return replacement.map { $0 == found } ?? false
    }

    /// Removes members that have ended, which frees what they held.
    static func removeEnded(_ db: Database, _ session: FileSession) throws {
        let own = session.token
        for token in try String.fetchAll(db, sql: "SELECT token FROM channels_members") where token != own {
            let member = SQLiteMember(token, beside: session.location)
            guard member.hasEnded else { continue }
            try removeMember(token, db)
            // Removed even if this is not committed: a member without a file has ended as well.
            member.removeIfEnded()
        }
    }

    static func removeMember(_ token: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM channels_members WHERE token = ?", arguments: [token])
    }

    // MARK: Delivering

    private func deliver(_ found: SQLiteReading.Found, _ claims: [SQLiteClaim]) {
        if let members = found.members {
            // A session that is not a member leaves this to the others.
            let tokens = session.map { $0.token.isEmpty ? [] : members.subtracting([$0.token]) } ?? []
            let location = session?.location ?? ""
            others = tokens.map { SQLiteMember($0, beside: location) }
        }
        if !(found.messages.isEmpty && found.values.isEmpty && claims.isEmpty) { schedule.delivered() }
        for (place, message) in found.messages { reading.plain[place].queue.enqueue(message) }
        for place in Set(found.messages.map(\.place)).sorted() { reading.plain[place].queue.deliver() }
        for (place, value) in found.values { reading.watched[place].queue.enqueue(raise(value)) }
        for place in Set(found.values.map(\.place)).sorted() { reading.watched[place].queue.deliver() }
        for claim in claims { reading.cursors[claim.place].name.queue.enqueue(inbound(claim)) }
        for place in Set(claims.map(\.place)).sorted() { reading.cursors[place].name.queue.deliver() }
    }

    private func inbound(_ claim: SQLiteClaim) -> InboundMessage {
        let holding = SQLiteDelivery.Holding(
            place: claim.place,
            name: reading.cursors[claim.place].id,
            number: claim.number,
            delivery: claim.delivery,
            token: session?.token ?? "",
            byteCount: claim.message.byteCount
        )
        let delivery = SQLiteDelivery(holding, session?.identity, mailbox)
        var message = InboundMessage(
            claim.message,
            deliveryCount: claim.delivery,
            // With its time, because after an older copy was restored, a number is given again.
            identity: "\(claim.number)@\(claim.time)",
            sequence: UInt64(claim.number),
            onSettled: { delivery.settle($0) }
        )
        message.secondsSince1970 = claim.time
        (message.context, message.isOver) = (delivery, session?.isOver)
        message.refuse = { [configuration] letter in
            try letter.check(upTo: configuration.bodyLimit)
            return try await delivery.refuse(keeping: letter)
        }
        return message
    }

    /// Returns a value with a revision that is higher than all before, even if an older copy of the file was
    /// restored.
    func raise(_ value: StoredValue) -> StoredValue {
        let revision = revisions.base + value.revision
        revisions.highest = max(revisions.highest, revision)
        return StoredValue(value.message, revision: revision)
    }

    // MARK: Settling

    /// Stores the settlement of a message as soon as the file can be written, if its session has not ended.
    func settle(_ holding: SQLiteDelivery.Holding, _ settlement: Settlement) {
        guard forget(holding) else { return }
        switch settlement {
        case .acknowledged, .terminated:
            add(CommitQueue.Change(kind: .settling) { db, _ in _ = try holding.settle(db) })
        case .retry(let delay):
            guard delay > .zero else { return release(holding) }
            // Until then, the message stays with this connection, because nobody else knows how long to wait.
            let due = environment.now() + delay.asLimit
            releases.append((due, holding))
            firstRelease = min(firstRelease ?? due, due)
        }
    }

    /// Called when a message is no longer with its listener. Returns false if its session has ended.
    private func forget(_ holding: SQLiteDelivery.Holding) -> Bool {
        guard let session, holding.token == session.token, reading.cursors.indices.contains(holding.place) else {
            return false
        }
        reading.cursors[holding.place].release(bytes: holding.byteCount)
        return true
    }

    private func release(_ holding: SQLiteDelivery.Holding) {
        add(CommitQueue.Change(kind: .upkeep) { db, _ in try holding.release(db) })
    }

    private func addDueReleases(_ now: Instant) {
        guard let first = firstRelease, first <= now else { return }
        for (due, holding) in releases where due <= now { release(holding) }
        releases.removeAll { $0.due <= now }
        firstRelease = releases.map(\.due).min()
    }
}
#endif
