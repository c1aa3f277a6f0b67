#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB
internal import Synchronization

/// The open file: one connection that reads, and one that writes, whose changes are committed together.
///
/// A cycle of the writing one: (1) it takes the queued changes; (2) it checks that the path still leads to
/// this file, and that the file was not restored to an older copy; (3) all changes are made in one transaction, which is
/// synchronised with the disk if a change asks for that; (4) their completions are called. Where the file
/// cannot be written, its *trouble* begins: what is published fails at once, what has to be done sooner or
/// later waits, and a commit is tried each second until one succeeds.
///
/// `state` is guarded by its lock, under which nothing of the database is called.
final class SQLiteFile: Sendable {
    /// A change of the file, and its completion once it is committed or has failed.
    struct Write: Sendable {
        enum Kind {
            /// Stores something: synchronised with the disk. Fails if the file cannot be written.
            case storing
            /// Takes something. Fails if the file cannot be written.
            case taking
            /// Done as soon as the file can be written: otherwise it would be forgotten.
            case settling
            /// The last one, tried once.
            case last

            var mayFail: Bool { self == .storing || self == .taking }
        }

        let kind: Kind
        let change: @Sendable (Database) throws -> Void
        let end: @Sendable (BridgeError?) -> Void
    }

    /// The known state of the file, and how often it was restored to an older one.
    struct History: Sendable {
        var mark: SQLiteMark?
        var epoch = 0
    }

    struct State {
        var waiting: [Write] = []
        var isWriting = false
        var isClosed = false
        var trouble: (reason: BridgeError, since: ContinuousClock.Instant)?
        var history = History()
    }

    enum Event: Sendable {
        /// A commit has changed something.
        case committed
        case troubleBegan(BridgeError)
        case troubleEnded(after: Duration)
        case wentBack
    }

    /// How long it waits before it tries a file again that could not be written.
    private static let pause = Duration.seconds(1)
    /// How large the write-ahead log may stay once all of it is in the file.
    static let logLimit = 16 << 20

    let path: String
    /// Where the file is that the path leads to: SQLite keeps the log there, and the members their files.
    let location: String
    private let reader: DatabaseQueue
    private let writer: DatabaseQueue
    /// The identities of the file and of SQLite's companion files when it was opened.
    let identities: [FileIdentity?]
    private let isSynchronized: Bool
    /// How the connections wait for a lock.
    let patience: SQLitePatience
    let state: Locked<State>
    let onEvent: @Sendable (Event) -> Void

    /// - Parameter mark: The known state of the file.
    init(
        _ configuration: SQLiteConfiguration,
        _ reader: DatabaseQueue,
        _ writer: DatabaseQueue,
        _ patience: SQLitePatience,
        _ mark: SQLiteMark,
        onEvent: @escaping @Sendable (Event) -> Void
    ) {
        (path, self.reader, self.writer, self.onEvent) = (configuration.path, reader, writer, onEvent)
        (isSynchronized, self.patience) = (configuration.synchronous == .full, patience)
        location =
            realpath(path, nil).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            } ?? path
        identities = FileIdentity.all(path, location)
        state = Locked(State(history: History(mark: mark)))
    }

    // MARK: Reading

    /// A number that changes with each commit of another connection, in this process or another. Without a
    /// transaction, and without waiting for a lock: it is asked often.
    func version() throws -> Int {
        do {
            return try reader.unsafeRead { db in
                try checkIsOpen()
                return try Int.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")) ?? 0
            }
        } catch { throw BridgeError(error, path: path) }
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        let known = state.withLock { $0.history }
        do {
            let (result, mark) = try await use(reader) { db in
                var read: (Result, SQLiteMark)?
                try db.inTransaction(.deferred) {
                    guard try known.mark?.isKnown(to: db) ?? true else { throw WentBack() }
                    read = (try body(db), try SQLiteMark(db))
                    return .commit
                }
                return read!  // it was read
            }
            note(mark, known.epoch)
            return result
        } catch is WentBack {
            goBack(from: known.epoch)
            throw WentBack()
        } catch { throw BridgeError(error, path: path) }
    }

    /// Uses a connection on its queue, where it is closed, too.
    private func use<Result: Sendable>(
        _ connection: DatabaseQueue,
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await connection.writeWithoutTransaction { db in
            try self.checkIsOpen()
            return try body(db)
        }
    }

    /// Throws ``BridgeError/Code/closed`` before a connection is closed: GRDB (7.10) asks SQLite about a closed one, which
    /// ends the process.
    private func checkIsOpen() throws {
        if state.withLock({ $0.isClosed }) { throw BridgeError(.closed) }
    }

    // MARK: History

    /// Thrown if the file was restored to an older copy since it was last read.
    struct WentBack: Error {}

    /// How often the file was restored to an older copy.
    var epoch: Int { state.withLock { $0.history.epoch } }

    private func note(_ mark: SQLiteMark, _ epoch: Int) {
        state.withLock { state in
            guard state.history.epoch == epoch else { return }
            let known = state.history.mark
            if known.map({ $0.changes < mark.changes || $0.number < mark.number }) ?? true { state.history.mark = mark }
        }
    }

    /// From now on, the file is taken as it is. Reported once for each time.
    func goBack(from epoch: Int) {
        let isNew = state.withLock { state in
            guard state.history.epoch == epoch else { return false }
            state.history = History(mark: nil, epoch: epoch + 1)
            return true
        }
        if isNew { onEvent(.wentBack) }
    }

    // MARK: Writing

    /// Makes a change in the next transaction, together with others, in the order of the calls.
    ///
    /// - Parameter end: Called once, from any thread, with nil when it is committed.
    func write(
        _ change: @escaping @Sendable (Database) throws -> Void,
        _ end: @escaping @Sendable (BridgeError?) -> Void
    ) {
        enqueue(Write(kind: .storing, change: change, end: end))
    }

    /// Makes a change as soon as the file can be written, however long that takes.
    ///
    /// - Parameter end: Called once it is done; with an error if the file is closed, or the change itself is refused.
    func settle(
        _ change: @escaping @Sendable (Database) throws -> Void,
        _ end: @escaping @Sendable (BridgeError?) -> Void
    ) {
        enqueue(Write(kind: .settling, change: change, end: end))
    }

    /// Makes a change, and returns its result once it is committed.
    func write<Result: Sendable>(_ change: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await wait(.storing, change)
    }

    /// Makes a change that need not survive a power failure, and returns its result once it is committed.
    func take<Result: Sendable>(_ change: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await wait(.taking, change)
    }

    private func wait<Result: Sendable>(
        _ kind: Write.Kind,
        _ change: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        let made = Locked<Result?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let write = Write(kind: kind) { db in
                let result = try change(db)
                made.withLock { $0 = result }
            } end: { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
            enqueue(write)
        }
        return made.withLock { $0! }  // it was made before the commit
    }

    private func enqueue(_ write: Write) {
        let (begins, error) = state.withLock { state -> (Bool, BridgeError?) in
            guard !state.isClosed else { return (false, BridgeError(.closed)) }
            if write.kind.mayFail, let trouble = state.trouble { return (false, trouble.reason) }
            state.waiting.append(write)
            defer { state.isWriting = true }
            return (!state.isWriting, nil)
        }
        if let error { return write.end(error) }
        if begins { Task.detached { await self.writeWaiting() } }
    }

    /// How many changes wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func writeWaiting() async {
        while true {
            let (batch, isInTrouble) = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty, state.trouble == nil { state.isWriting = false }
                return (state.waiting, state.trouble != nil)
            }
            guard !batch.isEmpty || isInTrouble else { return }
            let error = await commit(batch, isProbe: isInTrouble)
            guard let error else {
                endTrouble()
                for write in batch { write.end(nil) }
                continue
            }
            // On a nearly full disk, there may be room for the changes before the one that is too large.
            if !error.concernsTheFile || error.isForWantOfRoom && batch.count > 1 {
                await commitSingly(batch)
            } else if await !postpone(batch, error) {
                return
            }
        }
    }

    /// A change that cannot be made fails alone, except for messages published after it, which have to stay
    /// behind.
    private func commitSingly(_ batch: [Write]) async {
        var failure: BridgeError?
        for (index, write) in batch.enumerated() {
            if let failure, write.kind.mayFail {
                write.end(failure)
                continue
            }
            let error = await commit([write], isProbe: false)
            if let error, error.concernsTheFile {
                _ = await postpone(Array(batch[index...]), error)
                return
            }
            write.end(error)
            if let error, write.kind.mayFail {
                failure = failure ?? error
                for write in takeWhatMayFail() { write.end(error) }
            }
        }
    }

    private func takeWhatMayFail() -> [Write] {
        state.withLock { state in
            defer { state.waiting.removeAll { $0.kind.mayFail } }
            return state.waiting.filter { $0.kind.mayFail }
        }
    }

    /// The file cannot be written: what can fails, and the rest waits.
    ///
    /// - Returns: Whether it is to be tried again.
    private func postpone(_ batch: [Write], _ error: BridgeError) async -> Bool {
        beginTrouble(error)
        let isLast = state.withLock { state in
            let isLast = (batch + state.waiting).contains { $0.kind == .last }
            if isLast { state.isWriting = false }
            return isLast
        }
        let failed = batch.filter { $0.kind != .settling || isLast } + takeWhatMayFail()
        for write in failed { write.end(error) }
        guard !isLast else { return false }
        state.withLock { $0.waiting.insert(contentsOf: batch.filter { $0.kind == .settling }, at: 0) }
        let end = ContinuousClock.now + Self.pause
        // One that closes the file does not wait that long.
        while .now < end, !state.withLock({ $0.waiting.contains { $0.kind == .last } }) {
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// - Parameter isProbe: Whether something is written in any case, to see whether that is possible.
    private func commit(_ batch: [Write], isProbe: Bool) async -> BridgeError? {
        defer { patience.looks.store(0, ordering: .relaxed) }
        let isSynchronized = isSynchronized && (isProbe || batch.contains { $0.kind == .storing || $0.kind == .last })
        do {
            try check()
            let known = state.withLock { $0.history }
            let (hasChanged, mark, epoch) = try await use(writer) { db in
                // A pool or a queue of GRDB sets NORMAL when it is opened. It may not be changed in a transaction.
                // Not a cached statement: SQLite sets it where the statement is compiled.
                try db.execute(sql: "PRAGMA synchronous = \(isSynchronized ? "FULL" : "NORMAL")")
                // On a full disk, that may make the room.
                if isProbe { self.shortenLog(db) }
                let before = db.totalChangesCount
                var mark: SQLiteMark?
                var epoch = known.epoch
                var hasChanged = false
                try db.inTransaction(.immediate) {
                    if isProbe {
                        try SQLiteSchema.prepare(db)
                        try db.execute(sql: "UPDATE channels_schema SET version = version")
                    }
                    if try !(known.mark?.isKnown(to: db) ?? true) { self.goBack(from: known.epoch) }
                    for write in batch { try write.change(db) }
                    hasChanged = db.totalChangesCount != before
                    if hasChanged { try SQLiteMark.change(db) }
                    // Here, because the file may go back again as soon as the transaction ends.
                    (mark, epoch) = (try SQLiteMark(db), self.epoch)
                    return .commit
                }
                return (hasChanged, mark, epoch)
            }
            if let mark { note(mark, epoch) }
            if hasChanged { onEvent(.committed) }
            return nil
        } catch { return BridgeError(error, path: path) }
    }

    // MARK: The write-ahead log

    /// Moves the write-ahead log into the file, as far as it is not being read, and truncates it.
    func shortenLog() async throws {
        guard FileIdentity.size(location + "-wal") > Self.logLimit else { return }
        try await use(writer) { self.shortenLog($0) }
    }

    private func shortenLog(_ db: Database) {
        // It would wait for those who read the log, and writers for it.
        patience.isPatient.store(false, ordering: .relaxed)
        defer { patience.isPatient.store(true, ordering: .relaxed) }
        // If it cannot, it moves what it can.
        _ = try? Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: Closing

    /// Makes the queued changes and a last one, if there are any, and closes the file. The connection that writes is the
    /// last: if there is no other one, it brings the write-ahead log into the file.
    func close(last change: (@Sendable (Database) throws -> Void)?) async -> BridgeError? {
        let isIdle = state.withLock { $0.waiting.isEmpty && !$0.isWriting }
        var error: BridgeError?
        if change != nil || !isIdle {
            error = await withCheckedContinuation { continuation in
                enqueue(Write(kind: .last, change: change ?? { _ in }) { continuation.resume(returning: $0) })
            }
        }
        state.withLock { $0.isClosed = true }
        // SQLite would remove the write-ahead log of the file that is there now.
        if isReplaced {
            Self.abandoned.withLock { $0 += [reader, writer] }
        } else {
            try? reader.close()
            try? writer.close()
        }
        return error
    }

    private static let abandoned = Locked<[DatabaseQueue]>([])
}
#endif
