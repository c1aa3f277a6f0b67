#if SQLite
import Foundation

/// A path for a database, removed with what SQLite keeps beside it when this is released.
final class TemporaryFile: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID()).sqlite").path()

    /// The paths of what is kept beside the database.
    func companions(after end: String) -> [String] {
        let folder = URL(filePath: path).deletingLastPathComponent()
        let start = URL(filePath: path).lastPathComponent + end
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return names.filter { $0.hasPrefix(start) }.map { folder.appending(path: $0).path() }
    }

    deinit {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
}
#endif
