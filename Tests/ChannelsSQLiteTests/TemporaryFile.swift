#if SQLite
import Foundation

/// A path for a database, removed with what SQLite keeps beside it when this is released.
final class TemporaryFile: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID()).sqlite").path()

    deinit {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
}
#endif
