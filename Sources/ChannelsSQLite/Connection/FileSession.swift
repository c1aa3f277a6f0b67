#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// An open file, until it is closed or found to have been replaced. In the second case, everything that was
/// read from it ends with the session, and another session begins.
///
/// Each transaction first checks whether the file is the one that the session knows. Only the thread of the
/// connection uses a session.
final class FileSession {
    /// Thrown if the file was replaced, or an older copy of it was restored, since it was last read.
    struct WentBack: Error {}

    /// How large the write-ahead log may remain once all of it has been moved into the file.
    static let logLimit = 16 << 20

    let path: String
    /// The location of the file to which the path leads. SQLite puts the log there, and members put their files
    /// there.
    let location: String
    /// The identities of the file and of SQLite's companion files when it was opened.
    private let identities: [FileIdentity?]
    private let database: DatabaseQueue
    private let environment: FileEnvironment
    private let isSynchronized: Bool
    private var synchronous: Bool?
    private var mark: SQLiteMark
    /// Opens when the session ends.
    let isOver = Latch()
    /// Keeps the session a member, once it subscribes under a durable name.
    private var membership: SQLiteMembership?

    /// Opens the file, or creates it. It never waits: the cause of an error with ``BridgeError/isLock`` may
    /// soon be gone.
    init(_ configuration: SQLiteConfiguration, _ environment: FileEnvironment) throws {
        (path, self.environment) = (configuration.path, environment)
        isSynchronized = configuration.synchronous == .full
        var settings = Configuration()
        settings.label = "swift-channels"
        // Setting the mode writes, and an observer must take the file as it is.
        settings.journalMode = configuration.isObserver ? .default : .wal
        settings.busyMode = .immediateError
        do {
            // Checked before it is opened for writing, which would change another program's file.
            if configuration.isObserver { try Self.checkIsThere(path) }
            try FileIdentity.checkHasOneName(path, Self.location(of: path))
            let database = try DatabaseQueue(path: path, configuration: settings)
            mark = try database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_size_limit = \(Self.logLimit)")
                // Otherwise Apple's systems count what is in the cache of the disk as written.
                try db.execute(sql: "PRAGMA fullfsync = ON")
                var mark: SQLiteMark?
                let isKnown = try SQLiteSchema.isThere(db)
                try db.inTransaction(isKnown ? .deferred : .immediate) {
                    try SQLiteSchema.prepare(db, creates: !configuration.isObserver)
                    mark = try SQLiteMark("", db)
                    return .commit
                }
                return mark!  // it was read
            }
            self.database = database
        } catch { throw BridgeError(error, path: configuration.path) }
        location = Self.location(of: path)
        identities = FileIdentity.all(path, location)
    }

    private static func location(of path: String) -> String {
        guard let pointer = realpath(path, nil) else { return path }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    private static func checkIsThere(_ path: String) throws {
        try FileIdentity.checkIsVisible(path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw BridgeError(.notConnected, detail: "there is no such file")
        }
        guard !isFolder.boolValue else { throw BridgeError(.notConnected, detail: "this is a folder") }
        var reading = Configuration()
        reading.readonly = true
        try DatabaseQueue(path: path, configuration: reading).read { try SQLiteSchema.prepare($0, creates: false) }
    }

    // MARK: Transactions

    /// Returns a number that changes with each commit of another connection, in this process or another. Read
    /// without a transaction, because it is read often.
    func version() throws -> Int {
        do {
            return try database.writeWithoutTransaction { db in
                try Int.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")) ?? 0
            }
        } catch { throw BridgeError(error, path: path) }
    }

    /// - Throws: ``WentBack``; a `BridgeError`.
    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try transaction(.deferred) { db in
            try environment.willRead()
            let result = try body(db)
            return (result, try SQLiteMark(token, db))
        }
    }

    /// Commits what a body writes. It does not wait for a lock, but throws an error with
    /// ``BridgeError/isLock``.
    ///
    /// - Parameter isProbe: Whether to write something even if the body does not.
    /// - Throws: ``WentBack``; a `BridgeError`.
    func write<Result>(
        isSynchronized: Bool,
        isProbe: Bool = false,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        try check()
        let result = try transaction(.immediate, isSynchronized: isSynchronized, makesRoom: isProbe) { db in
            let before = db.totalChangesCount
            if isProbe {
                try SQLiteSchema.prepare(db)
                try db.execute(sql: "UPDATE channels_schema SET version = version")
            }
            let result = try body(db)
            if db.totalChangesCount != before { try SQLiteMark.change(token, db) }
            try environment.willCommit()
            return (result, try SQLiteMark(token, db))
        }
        // What was written to a log that is gone by now counts as not written.
        try check()
        return result
    }

    private func transaction<Result>(
        _ kind: Database.TransactionKind,
        isSynchronized: Bool = false,
        makesRoom: Bool = false,
        _ body: (Database) throws -> (Result, SQLiteMark)
    ) throws -> Result {
        do {
            return try database.writeWithoutTransaction { db in
                if kind == .immediate { try synchronize(isSynchronized && self.isSynchronized, db) }
                // On a full disk, this may make room.
                if makesRoom { shortenLog(db) }
                var result: (Result, SQLiteMark)?
                try db.inTransaction(kind) {
                    guard try mark.isKnown(token, to: db) else { throw WentBack() }
                    result = try body(db)
                    return .commit
                }
                mark = result!.1  // it was committed
                return result!.0
            }
        } catch let error as WentBack { throw error } catch { throw BridgeError(error, path: path) }
    }

    /// Sets when a commit counts as done. GRDB sets NORMAL when it opens a file. It cannot be changed within
    /// a transaction.
    private func synchronize(_ isFull: Bool, _ db: Database) throws {
        guard isFull != synchronous else { return }
        // Not a cached statement, because SQLite sets it when the statement is compiled.
        try db.execute(sql: "PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL")")
        synchronous = isFull
    }

    /// Moves the write-ahead log into the file, except for parts that are being read, and truncates it.
    func shortenLog() {
        guard FileIdentity.size(log) > Self.logLimit else { return }
        database.writeWithoutTransaction { shortenLog($0) }
    }

    private func shortenLog(_ db: Database) {
        // If it cannot truncate the log, it still moves what it can.
        _ = try? Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: The files

    /// Throws ``BridgeError/Code/notConnected`` if the path leads to another file or to none, because
    /// messages written to the open file would be lost.
    func check() throws {
        let found = FileIdentity.all(path, location)
        guard found != identities else { return }
        try FileIdentity.checkIsVisible(path)
        try FileIdentity.checkHasOneName(path, location)
        let what =
            if found[0] != identities[0] {
                "the file was removed or replaced: stop all processes that use it, delete what is left of -wal and -shm"
            } else if found[1] != identities[1] {
                "its -wal, which has the latest messages, was removed or replaced: stop all processes that use it"
            } else {
                "its -shm was removed or replaced: stop all processes that use it, keep the -wal"
            }
        throw BridgeError(.notConnected, detail: "\(path): \(what), and start them again")
    }

    /// Whether another file is in the place of this one, and this one's companion files are gone. SQLite would
    /// take those for the other file's.
    var isReplacedWhole: Bool {
        let found = FileIdentity.all(path, location)
        return found[0] != nil && zip(found, identities).allSatisfy { $0 == nil || $0 != $1 }
    }

    /// Its write-ahead log, to which every commit is written first.
    var log: String { location + "-wal" }

    /// The identity of the file when it was opened.
    var identity: FileIdentity? { identities[0] }

    // MARK: Being a member

    /// Identifies this session in the file; empty until it is a member.
    var token: String { membership?.token ?? "" }

    /// Makes this session a member, and returns its token.
    func join() throws -> String {
        if let membership { return membership.token }
        SQLiteMembership.removeUnknown(beside: location)
        let new = try SQLiteMembership(beside: location)
        membership = new
        return new.token
    }

    /// Whether other sessions can find its file, if it is a member. Otherwise they take it for one that has
    /// ended.
    var isKnownToOthers: Bool { membership?.isThere ?? true }

    // MARK: The end

    /// Ends the membership and closes the file. The last connection moves the write-ahead log into the file.
    func end() {
        isOver.open()
        membership = nil
        // Otherwise SQLite would remove the write-ahead log of the file that is there now.
        if zip(FileIdentity.all(path, location), identities).contains(where: { $0 != nil && $0 != $1 }) { keepLog() }
        try? database.close()
    }

    private func keepLog() {
        database.writeWithoutTransaction { db in
            var isKept: CInt = 1
            sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &isKept)
        }
    }

    /// Ends as if the process had been killed, for a simulation.
    func kill() {
        membership?.abandon()
        // A killed process neither moves nor removes the log.
        keepLog()
        try? database.close()
    }
}
#endif
