#if SQLite
internal import ChannelsBridge
internal import Foundation

/// Identifies a file, whatever its path.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// Whether other paths lead to it that are no symbolic links.
    private let hasOtherNames: Bool

    /// Returns nil if there is no file.
    init?(_ path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (device, number) = (UInt64(truncatingIfNeeded: found.st_dev), UInt64(found.st_ino))
        hasOtherNames = found.st_nlink > 1
    }

    /// Throws ``BridgeError/Code/notConnected`` if SQLite's companion files could be beside another name of the file:
    /// processes that use different names would not see each other's messages and locks.
    static func checkHasOneName(_ path: String, _ location: String) throws {
        var found = stat()
        guard stat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG else { return }
        let problem =
            if found.st_nlink > 1 {
                "the file has other names, which are hard links: remove them"
            } else if isMounted(location) {
                "the file is mounted by itself, as a container does: mount its folder"
            } else {
                nil as String?
            }
        if let problem { throw BridgeError(.notConnected, detail: "\(path): \(problem)") }
    }

    private static func isMounted(_ path: String) -> Bool {
        let mounts = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        return mounts.split(separator: "\n").contains { mount in
            // Spaces and the like are octal there.
            mount.split(separator: " ").dropFirst(4).first?.replacing("\\040", with: " ") ?? "" == path
        }
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
