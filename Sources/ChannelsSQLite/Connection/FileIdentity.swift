#if SQLite
internal import ChannelsBridge
internal import Foundation

/// Identifies a file, whatever its path.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// Returns nil if there is no file.
    init?(_ path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (device, number) = (UInt64(truncatingIfNeeded: found.st_dev), UInt64(found.st_ino))
    }

    /// Throws ``BridgeError/Code/notConnected`` if the folder does not let this process see whether there is a file.
    static func checkIsVisible(_ path: String) throws {
        var found = stat()
        guard stat(path, &found) != 0, errno == EACCES || errno == EPERM else { return }
        let detail = "\(path): the file cannot be looked at: change the permissions of its folder"
        throw BridgeError(.notConnected, detail: detail)
    }

    /// The identities of a database and its companion files while it is open.
    static func all(_ path: String, _ location: String) -> [FileIdentity?] {
        [FileIdentity(path), FileIdentity(location + "-wal"), FileIdentity(location + "-shm")]
    }

    static func size(_ path: String) -> Int {
        var found = stat()
        return stat(path, &found) == 0 ? Int(found.st_size) : 0
    }

    /// When a file was last written, in seconds since 1970; nil if there is no file.
    static func modified(_ path: String) -> Double? {
        var found = stat()
        return stat(path, &found) == 0 ? found.modified : nil
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
