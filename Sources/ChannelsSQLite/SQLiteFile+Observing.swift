#if SQLite
internal import ChannelsBridge
internal import GRDB

/// What people ask of the file, apart from those who exchange messages over it.
extension SQLiteFile {
    /// Reads on a connection of its own, so that nobody who looks for messages waits for a long read.
    func observe<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try check()
        do {
            var settings = Configuration()
            settings.label = "swift-channels status"
            settings.readonly = true
            settings.busyMode = .timeout(1)
            let connection = try DatabaseQueue(path: location, configuration: settings)
            defer { try? connection.close() }
            return try await connection.read(body)
        } catch { throw BridgeError(error, path: path) }
    }

    /// The sizes of the file and of its write-ahead log, and for how long neither was written.
    var sizes: (file: Int, log: Int, age: Duration?) {
        let log = location + "-wal"
        return (FileIdentity.size(location), FileIdentity.size(log), FileIdentity.age([location, log]))
    }
}
#endif
