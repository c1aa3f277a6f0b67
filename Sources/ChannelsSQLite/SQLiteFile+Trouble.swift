#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// What keeps a file from being read or written, which is a state: it is told when it begins and when it ends.
extension SQLiteFile {
    /// Whether messages can be stored.
    var isInTrouble: Bool { state.withLock { $0.trouble != nil } }

    func beginTrouble(_ error: BridgeError) {
        let isNew = state.withLock { state in
            defer { state.trouble = (error, state.trouble?.since ?? .now) }
            return state.trouble?.reason.detail != error.detail
        }
        if isNew { onEvent(.troubleBegan(error)) }
    }

    func endTrouble() {
        let since = state.withLock { $0.trouble.take()?.since }
        if let since { onEvent(.troubleEnded(after: since.duration(to: .now))) }
    }

    /// Looks whether something is wrong that no write has met yet. Without waiting for a lock: it is called often.
    func look() {
        do {
            try check()
            if patience.isExhausted, !isInTrouble { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        } catch { fail(error) }
    }

    /// The file cannot be read, or written. Ends with the next commit that succeeds.
    func fail(_ error: any Error) {
        beginTrouble(BridgeError(error, path: path))
        let begins = state.withLock { state in
            guard !state.isClosed else { return false }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Task.detached { await self.writeWaiting() } }
    }

    /// Throws ``BridgeError/Code/notConnected`` if the path leads to another file, or to none: messages
    /// written to the open one would be lost.
    func check() throws {
        let found = FileIdentity.all(path, location)
        guard found != identities else { return }
        let what =
            if found[0] != identities[0] {
                "the file was removed or replaced: stop all processes that use it, delete what is left of -wal and -shm"
            } else if found[1] != identities[1] {
                "its -wal, which has the latest messages, was removed or replaced: stop all processes that use it"
            } else {
                "its -shm was removed or replaced: stop all processes that use it, keep the -wal"
            }
        throw BridgeError(.notConnected, detail: "\(path): \(what), and start them again")
    }

    /// Whether something else stands where the file, or a part of it, was.
    var isReplaced: Bool {
        zip(FileIdentity.all(path, location), identities).contains { $0 != nil && $0 != $1 }
    }
}
#endif
