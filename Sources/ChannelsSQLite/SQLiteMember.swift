#if SQLite
internal import ChannelsBridge
internal import Foundation

/// The sign of life of a connection that subscribes: a file beside the database, which is locked as long as the process
/// lives. The kernel releases the lock with the process, however that ends, and keeps it while the process is stopped.
///
/// `flock` belongs to an open file, not to a process: so connections of one process are distinguished, too.
final class SQLiteMember: Sendable {
    /// Names the connection in the file. Random, so that no other connection has this name in an older copy of the file.
    let token: String
    private let path: String
    private let descriptor: Int32

    /// Creates the file, and locks it.
    init(beside database: String) throws {
        while true {
            let token = String(UInt64.random(in: .min ... .max), radix: 36)
            let path = Self.path(of: token, beside: database)
            let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o444)
            guard descriptor >= 0 else { throw Self.failure("cannot be created", path) }
            // Every user of the database has to read it, whatever the mask of this process.
            fchmod(descriptor, 0o444)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let error = errno
                close(descriptor)
                unlink(path)
                // One that looks for files of processes that have ended was faster.
                if error == EWOULDBLOCK { continue }
                throw Self.failure("cannot be locked", path)
            }
            if Self.leads(path, to: descriptor) {
                // For people: nothing depends on it.
                let name = Self.name(of: ProcessInfo.processInfo, at: Self.host)
                _ = name.withCString { write(descriptor, $0, strlen($0)) }
                (self.token, self.path, self.descriptor) = (token, path, descriptor)
                return
            }
            // Its owner has removed it meanwhile.
            close(descriptor)
        }
    }

    deinit {
        unlink(path)
        close(descriptor)
    }

    private static func name(of process: ProcessInfo, at host: String) -> String {
        "\(process.processName)[\(process.processIdentifier)]\n\(host)"
    }

    private static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// Whether the others find the file. Otherwise they take this connection for one that has ended.
    var isThere: Bool { Self.leads(path, to: descriptor) }

    private static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var (found, own) = (stat(), stat())
        return stat(path, &found) == 0 && fstat(descriptor, &own) == 0
            && found.st_ino == own.st_ino && found.st_dev == own.st_dev
    }

    private static func path(of token: String, beside database: String) -> String { "\(database)-member-\(token)" }

    private static func failure(_ what: String, _ path: String) -> BridgeError {
        BridgeError(.notConnected, detail: "\(path) \(what): \(String(cString: strerror(errno)))")
    }

    /// Removes the file of a connection that has ended.
    static func remove(_ token: String, beside database: String) {
        let other = Other(token, beside: database)
        // Locked until it is removed: one that begins with it meanwhile takes another.
        if other.hasEnded { unlink(path(of: token, beside: database)) }
        withExtendedLifetime(other) {}
    }

    /// Removes the files of connections that have ended before they were in the tables.
    static func removeUnknown(beside database: String) {
        let (folder, name) = (
            (database as NSString).deletingLastPathComponent, (database as NSString).lastPathComponent
        )
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for file in files where file.hasPrefix("\(name)-member-") {
            remove(String(file.dropFirst("\(name)-member-".count)), beside: database)
        }
    }

    /// Another connection, in this process or another.
    final class Other: Sendable {
        let token: String
        /// Negative if there is no file.
        private let descriptor: Int32
        private let isMissing: Bool

        init(_ token: String, beside database: String) {
            self.token = token
            descriptor = open(SQLiteMember.path(of: token, beside: database), O_RDONLY | O_CLOEXEC)
            isMissing = descriptor < 0 && errno == ENOENT
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        /// Which process it is, as far as its file says, and since when.
        var holder: StoreStatus.Holder {
            var found = stat()
            let isKnown = descriptor >= 0 && fstat(descriptor, &found) == 0
            var bytes = [UInt8](repeating: 0, count: 512)
            let count = isKnown ? max(pread(descriptor, &bytes, bytes.count, 0), 0) : 0
            let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n")
            let host = lines.dropFirst().first.flatMap { $0 == SQLiteMember.host ? nil : "@\($0)" } ?? ""
            return StoreStatus.Holder(
                process: (lines.first.map { "\($0)" } ?? "?") + host,
                age: isKnown ? .since(found.modified) : .zero
            )
        }

        /// Whether its process, or its connection, has ended. What cannot be looked at counts as living.
        var hasEnded: Bool {
            // Shared: those who look do not take each other for the one that they look for.
            isMissing || descriptor >= 0 && flock(descriptor, LOCK_SH | LOCK_NB) == 0
        }
    }
}
#endif
