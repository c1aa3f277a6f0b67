#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB
internal import Synchronization

extension SQLiteFile {
    /// - Parameter onEvent: Called from any thread.
    static func open(
        _ configuration: SQLiteConfiguration,
        onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> SQLiteFile {
        let path = configuration.path
        var settings = Configuration()
        settings.label = "swift-channels"
        // Setting it writes. Who only looks takes the file as it is, and waits for nobody who has locked it.
        settings.journalMode = configuration.isObserver ? .default : .wal
        // SQLite's own timeout looks again after up to 100 ms, while those that write all the time take the lock at
        // once.
        let mostLooks = configuration.busyTimeout / .milliseconds(2)
        let patience = SQLitePatience()
        settings.busyMode = .callback { looks in
            guard patience.isPatient.load(ordering: .relaxed) else { return false }
            patience.looks.store(looks, ordering: .relaxed)
            Thread.sleep(forTimeInterval: 0.002)
            return Double(looks) < mostLooks
        }
        var reading = settings
        reading.readonly = true
        do {
            // Before it is opened for writing, which would change another program's file.
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
            let writer = try await openWriter(path, settings, until: .now + configuration.busyTimeout.asLimit)
            try await writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_size_limit = \(logLimit)") }
            let mark =
                if configuration.isObserver {
                    try await writer.read { try SQLiteMark($0) }
                } else {
                    try await writer.write { db in
                        try SQLiteSchema.prepare(db)
                        return try SQLiteMark(db)
                    }
                }
            let reader = try DatabaseQueue(path: path, configuration: reading)
            patience.looks.store(0, ordering: .relaxed)
            return SQLiteFile(configuration, reader, writer, patience, mark, onEvent: onEvent)
        } catch {
            throw BridgeError(error, path: path)
        }
    }

    /// SQLite does not wait for a lock when it sets up the write-ahead log, as two processes do that create the file at
    /// the same time.
    private static func openWriter(
        _ path: String,
        _ settings: Configuration,
        until deadline: ContinuousClock.Instant
    ) async throws -> DatabaseQueue {
        while true {
            do { return try DatabaseQueue(path: path, configuration: settings) } catch let error as DatabaseError
                where error.resultCode.primaryResultCode == .SQLITE_BUSY && .now < deadline
            {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }
}

/// How the connections of a file wait for a lock.
final class SQLitePatience: Sendable {
    let isPatient = Atomic(true)
    /// How often the lock was looked for without success since the last commit.
    let looks = Atomic(0)

    /// Whether another program has held the lock for long. Counted in attempts, each of 2 ms or more on a
    /// busy machine, so that load is not mistaken for a lock.
    var isExhausted: Bool { looks.load(ordering: .relaxed) >= 650 }
}

/// Which file it is, whatever it is called.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Nil if there is none.
    private init?(_ path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (device, number) = (UInt64(truncatingIfNeeded: found.st_dev), UInt64(found.st_ino))
    }

    /// The identities of a database and its companion files while it is open.
    static func all(_ path: String, _ location: String) -> [FileIdentity?] {
        [FileIdentity(path), FileIdentity(location + "-wal"), FileIdentity(location + "-shm")]
    }

    static func size(_ path: String) -> Int {
        var found = stat()
        return stat(path, &found) == 0 ? Int(found.st_size) : 0
    }

    /// For how long nothing was written to any of these files; nil if there is none.
    static func age(_ paths: [String]) -> Duration? {
        paths.compactMap { path in
            var found = stat()
            return stat(path, &found) == 0 ? found.modified : nil
        }.max().map { .since($0) }
    }
}

extension stat {
    /// When the file was written last, in seconds since 1970.
    var modified: Double {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}

extension Duration {
    /// The time since then, by the wall clock.
    static func since(_ secondsSince1970: Double) -> Duration {
        .seconds(max(Timestamp.now.secondsSince1970 - secondsSince1970, 0))
    }
}
#endif
