#if SQLite
internal import ChannelsBridge
internal import Foundation

/// Ends the wait of a thread. It is a pipe, so that a thread can wait for it and a ``FileWatch`` at the same
/// time.
final class WakeUp: Sendable {
    /// Becomes readable when it is rung.
    let reader: Int32
    private let writer: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw BridgeError(.notConnected, detail: "no pipe can be made: \(String(cString: strerror(errno)))")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        close(writer)
    }

    /// Ends the wait. May be called from any thread, and does not wait: if the pipe is full, it has been
    /// rung.
    func ring() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }

    /// Forgets the rings so far.
    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reader, &bytes, bytes.count) > 0 {}
    }
}
#endif
