#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// The open file: writes that are committed together.
///
/// `state` is guarded by its lock, under which nothing of the database is called.
final class SQLiteFile: Sendable {
    /// A change of the file, and what is done once it is committed, or has failed.
    private struct Write: Sendable {
        let change: @Sendable (Database) throws -> Void
        let end: @Sendable (BridgeError?) -> Void
    }

    private struct State {
        var waiting: [Write] = []
        var isWriting = false
        var isClosed = false
    }

    let path: String
    /// What the path led to when it was opened.
    private let identity: FileIdentity?
    let pool: DatabasePool
    /// Always one connection: it is told whether another one has committed since it last asked.
    private let versions: DatabaseQueue
    private let state = Locked(State())
    private let committed: @Sendable () -> Void

    private init(
        _ path: String,
        _ pool: DatabasePool,
        _ versions: DatabaseQueue,
        committed: @escaping @Sendable () -> Void
    ) {
        (self.path, self.pool, self.versions, self.committed) = (path, pool, versions, committed)
        identity = FileIdentity(path)
    }

    /// - Parameter committed: Called after each commit of this connection, from any thread.
    static func open(
        _ configuration: SQLiteConfiguration,
        committed: @escaping @Sendable () -> Void
    ) async throws -> SQLiteFile {
        let path = configuration.path
        var settings = Configuration()
        settings.label = "swift-channels"
        // SQLite's own timeout looks again after up to 100 ms, while those that write all the time take the lock at
        // once.
        let mostLooks = configuration.busyTimeout / .milliseconds(2)
        settings.busyMode = .callback { looks in
            Thread.sleep(forTimeInterval: 0.002)
            return Double(looks) < mostLooks
        }
        settings.maximumReaderCount = 2
        let synchronous = configuration.synchronous == .full ? "FULL" : "NORMAL"
        settings.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = \(synchronous)") }
        do {
            var reading = settings
            reading.readonly = true
            // Before it is opened for writing, which changes the file of somebody else, too.
            if configuration.isObserver {
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                    throw BridgeError(.notConnected, detail: "there is no such file")
                }
                guard !isFolder.boolValue else { throw BridgeError(.notConnected, detail: "this is a folder") }
                try await DatabaseQueue(path: path, configuration: reading).read {
                    try SQLiteSchema.prepare($0, creates: false)
                }
            }
            let pool = try await openPool(path, settings, until: .now + configuration.busyTimeout)
            try await pool.write { try SQLiteSchema.prepare($0) }
            return SQLiteFile(path, pool, try DatabaseQueue(path: path, configuration: reading), committed: committed)
        } catch {
            throw BridgeError(error, path: path)
        }
    }

    /// SQLite does not wait for a lock when it sets up the write-ahead log, as two processes do that create the file at
    /// the same time.
    private static func openPool(
        _ path: String,
        _ settings: Configuration,
        until deadline: ContinuousClock.Instant
    ) async throws -> DatabasePool {
        while true {
            do { return try DatabasePool(path: path, configuration: settings) } catch let error as DatabaseError
                where error.resultCode.primaryResultCode == .SQLITE_BUSY && .now < deadline
            {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    /// A number that changes with each commit of another connection, in this process or another. Without a
    /// transaction, and without waiting for a lock: it is asked often.
    func version() throws -> Int {
        do {
            return try versions.unsafeRead { db in
                try Int.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")) ?? 0
            }
        } catch { throw BridgeError(error, path: path) }
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        do { return try await pool.read(body) } catch { throw BridgeError(error, path: path) }
    }

    // MARK: Writing

    /// Makes a change in the next transaction, together with others, in the order of the calls.
    ///
    /// - Parameter end: Called once, from any thread, with nil when it is committed.
    func write(
        _ change: @escaping @Sendable (Database) throws -> Void,
        _ end: @escaping @Sendable (BridgeError?) -> Void
    ) {
        let begins = state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            state.waiting.append(Write(change: change, end: end))
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard let begins else { return end(BridgeError(.closed)) }
        if begins { Task.detached { await self.writeWaiting() } }
    }

    /// Makes a change, and returns what it returned, once it is committed.
    func write<Result: Sendable>(_ change: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        let made = Locked<Result?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            write(
                { db in
                    let result = try change(db)
                    made.withLock { $0 = result }
                },
                { error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                }
            )
        }
        return made.withLock { $0! }  // it was made before the commit
    }

    /// Throws ``BridgeError/Code/notConnected`` if the path leads to another file, or to none: what is written to the
    /// open one would be lost, and nobody else would read it.
    func check() throws {
        guard FileIdentity(path) != identity else { return }
        throw BridgeError(.notConnected, detail: "\(path): the file was removed or replaced: restart this process")
    }

    /// How many changes wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func writeWaiting() async {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isWriting = false }
                return state.waiting
            }
            guard !batch.isEmpty else { return }
            let error = await commit(batch)
            if let error, error.code != .notConnected, batch.count > 1 {
                // A change that fails takes no other with it. For a file that is locked, each would wait again.
                for write in batch { write.end(await commit([write])) }
            } else {
                for write in batch { write.end(error) }
            }
            committed()
        }
    }

    private func commit(_ batch: [Write]) async -> BridgeError? {
        do {
            try check()
            try await pool.write { db in for write in batch { try write.change(db) } }
            return nil
        } catch { return BridgeError(error, path: path) }
    }

    /// Makes what waits, and closes the file.
    func close(last change: @escaping @Sendable (Database) throws -> Void) async -> BridgeError? {
        let error: BridgeError? = await withCheckedContinuation { continuation in
            write(change) { continuation.resume(returning: $0) }
        }
        state.withLock { $0.isClosed = true }
        try? versions.close()
        try? pool.close()
        return error
    }
}

/// Which file it is, whatever it is called.
private struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Nil if there is none.
    init?(_ path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (device, number) = (UInt64(truncatingIfNeeded: found.st_dev), UInt64(found.st_ino))
    }
}

extension BridgeError {
    /// What went wrong with a file, and what to do about it.
    init(_ error: any Error, path: String) {
        if let error = error as? BridgeError {
            self.init(
                error.code,
                subject: error.subject,
                detail: [error.detail, path].compactMap { $0 }.joined(separator: ": "),
                underlyingError: error.underlyingError
            )
            return
        }
        guard !(error is CancellationError) else {
            self.init(.closed)
            return
        }
        let (code, what): (Code, String) =
            switch (error as? DatabaseError)?.resultCode.primaryResultCode {
            case .SQLITE_FULL: (.transportFailure, "the disk is full: make room")
            case .SQLITE_BUSY, .SQLITE_LOCKED:
                (.notConnected, "another program has locked the file for longer than busyTimeout: end its transaction")
            case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
                (.permissionDenied, "the file or its folder cannot be written: change its permissions")
            case .SQLITE_CANTOPEN:
                (.notConnected, "the file cannot be opened: its folder must exist, and it must not be a folder itself")
            case .SQLITE_NOTADB: (.transportFailure, "this is no SQLite database: choose another path")
            case .SQLITE_CORRUPT: (.transportFailure, "the file is damaged: restore it, or move it away")
            case .SQLITE_IOERR: (.transportFailure, "the disk failed, or the file may not grow")
            default: (.transportFailure, "SQLite failed")
            }
        self.init(code, detail: "\(path): \(what)", underlyingError: error)
    }
}
#endif
