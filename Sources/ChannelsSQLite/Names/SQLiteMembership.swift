#if SQLite
internal import ChannelsBridge
internal import Foundation

/// The sign of life of a session that subscribes: a file next to the database, which is locked as long as the
/// process lives. The kernel releases the lock when the process ends in any way, and keeps it while the
/// process is suspended.
///
/// A lock of `flock` belongs to an open file, not to a process, so it also tells apart sessions of one
/// process.
final class SQLiteMembership {
    /// Identifies the session in the file. It is random, so that no other session has it in an older copy of
    /// the file.
    let token: String
    private let path: String
    private let descriptor: Int32
    private var isAbandoned = false

    /// Creates the file, and locks it.
    init(beside database: String) throws {
        while true {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            let token = String(repeating: "0", count: SQLiteMember.tokenLength - digits.count) + digits
            let path = SQLiteMember.path(of: token, beside: database)
            let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o444)
            guard descriptor >= 0 else { throw Self.failure("cannot be created", path) }
            // Every user of the database has to be able to read it, whatever the umask of this process.
            fchmod(descriptor, 0o444)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let error = errno
                close(descriptor)
                unlink(path)
                // Another process was faster: one that looks for files of ended processes has locked it.
                if error == EWOULDBLOCK { continue }
                throw Self.failure("cannot be locked", path)
            }
            if Self.leads(path, to: descriptor) {
                // The process and its host are for people. Nothing depends on them.
                let process = ProcessInfo.processInfo
                let text =
                    "\(SQLiteMember.title)\n\(process.processName)[\(process.processIdentifier)]\n\(SQLiteMember.host)"
                _ = text.withCString { write(descriptor, $0, strlen($0)) }
                (self.token, self.path, self.descriptor) = (token, path, descriptor)
                return
            }
            // The process that had locked it has removed it meanwhile.
            close(descriptor)
        }
    }

    deinit {
        if !isAbandoned { unlink(path) }
        close(descriptor)
    }

    /// Leaves the file behind, as a killed process does.
    func abandon() { isAbandoned = true }

    /// Whether other sessions can find the file. Otherwise they take this session for one that has ended.
    var isThere: Bool { Self.leads(path, to: descriptor) }

    private static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var (found, own) = (stat(), stat())
        return stat(path, &found) == 0 && fstat(descriptor, &own) == 0
            && found.st_ino == own.st_ino && found.st_dev == own.st_dev
    }

    private static func failure(_ what: String, _ path: String) -> BridgeError {
        BridgeError(.notConnected, detail: "\(path) \(what): \(String(cString: strerror(errno)))")
    }

    /// Removes the files of sessions that ended before they were in the tables.
    static func removeUnknown(beside database: String) {
        let (folder, name) = (
            (database as NSString).deletingLastPathComponent, (database as NSString).lastPathComponent
        )
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for file in files where file.hasPrefix("\(name)-member-") {
            let token = String(file.dropFirst("\(name)-member-".count))
            SQLiteMember(token, beside: database).removeIfEnded()
        }
    }
}

/// A session that subscribes, in this process or another, as other sessions see it. It keeps no file open.
struct SQLiteMember {
    fileprivate static let tokenLength = 16
    /// The first line of each file.
    fileprivate static let title = "swift-channels"

    let token: String
    let path: String

    init(_ token: String, beside database: String) {
        (self.token, path) = (token, Self.path(of: token, beside: database))
    }

    fileprivate static func path(of token: String, beside database: String) -> String { "\(database)-member-\(token)" }

    private static func isToken(_ text: String) -> Bool {
        text.utf8.count == tokenLength && text.utf8.allSatisfy { Array("0123456789abcdef".utf8).contains($0) }
    }

    /// Whether its process or its connection has ended. A session whose file cannot be opened now counts as
    /// running.
    var hasEnded: Bool { whenEnded {} }

    /// Removes the file of a session that has ended, if this library has created it.
    func removeIfEnded() {
        // The file is locked until it is removed, so that a session that has just created it takes another
        // name.
        _ = whenEnded { if isOurs { unlink(path) } }
    }

    /// - Parameter body: Called with the lock of the file held, if there is one.
    private func whenEnded(_ body: () -> Void) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        // A shared lock, so that processes that check do not take each other for the session.
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return false }
        body()
        return true
    }

    /// Whether a session can have created the file, because the user's own files may have similar names.
    /// Nobody may write it, and it begins like those of sessions, or is empty because the process was killed
    /// at once.
    private var isOurs: Bool {
        var found = stat()
        guard Self.isToken(token), lstat(path, &found) == 0 else { return false }
        guard found.st_mode & S_IFMT == S_IFREG, found.st_mode & 0o777 == 0o444 else { return false }
        return found.st_size == 0 || Self.lines(path)?.first == Self.title
    }

    /// The process, as far as the file says, and since when it has been subscribed.
    var holder: StoreStatus.Holder {
        let lines = Self.lines(path) ?? []
        let host = lines.dropFirst(2).first.flatMap { $0 == Self.host ? nil : "@\($0)" } ?? ""
        return StoreStatus.Holder(
            process: (lines.dropFirst().first ?? "?") + host,
            age: FileIdentity.modified(path).map { .since($0) } ?? .zero
        )
    }

    fileprivate static func lines(_ path: String) -> [String]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = max(pread(descriptor, &bytes, bytes.count, 0), 0)
        return bytes.prefix(count).split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}
#endif
