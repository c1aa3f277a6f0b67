#if SQLite
internal import ChannelsBridge
internal import GRDB

extension BridgeError {
    /// Creates an error that says what went wrong with a file, and what to do about it.
    init(_ error: any Error, path: String) {
        if let error = error as? BridgeError {
            // `hasPrefix` comes first because most details begin with the path, and this runs for every lock.
            let isNamed = error.detail.map { $0.hasPrefix(path) || $0.contains(path) } ?? false
            self.init(
                error.code,
                subject: error.subject,
                detail: isNamed ? error.detail : [error.detail, path].compactMap { $0 }.joined(separator: ": "),
                underlyingError: error.underlyingError
            )
            return
        }
        guard !(error is CancellationError) else {
            self.init(.closed, detail: "\(path): the task was cancelled")
            return
        }
        let (code, what): (Code, String) =
            switch (error as? DatabaseError)?.resultCode.primaryResultCode {
            case .SQLITE_FULL: (.transportFailure, "the disk is full: make room")
            case .SQLITE_BUSY, .SQLITE_LOCKED:
                (.notConnected, "another program has locked the file: end its transaction")
            case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
                (.notConnected, "the file or its folder cannot be written: change its permissions")
            case .SQLITE_CANTOPEN:
                (
                    .notConnected,
                    "the file cannot be opened: its folder must exist and be writable, it must be no folder itself, and the "
                        + "process must be allowed to open more files (ulimit -n)"
                )
            case .SQLITE_NOTADB: (.transportFailure, "this is not an SQLite database: choose another path")
            case .SQLITE_CORRUPT:
                (
                    .transportFailure,
                    "the file is damaged: stop all processes that use it, delete its -wal and -shm, and restore a copy"
                )
            case .SQLITE_CONSTRAINT, .SQLITE_TOOBIG, .SQLITE_MISMATCH: (.refused, "SQLite does not take it")
            case .SQLITE_IOERR: (.transportFailure, "the disk failed, or the file may not grow")
            default: (.transportFailure, "SQLite failed")
            }
        self.init(code, detail: "\(path): \(what)", underlyingError: error)
    }

    /// Whether the disk is full.
    var isForWantOfRoom: Bool { (underlyingError as? DatabaseError)?.resultCode.primaryResultCode == .SQLITE_FULL }

    /// Whether another program has locked the file.
    var isLock: Bool {
        let code = (underlyingError as? DatabaseError)?.resultCode.primaryResultCode
        return code == .SQLITE_BUSY || code == .SQLITE_LOCKED
    }

    /// Whether the file cannot be written at present, no matter what is to be stored.
    var concernsTheFile: Bool { code.disposition == .wait }
}
#endif
