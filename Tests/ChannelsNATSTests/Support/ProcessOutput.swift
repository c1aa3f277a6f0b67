#if NATS
import Channels
import Foundation

/// What a process prints, read while it prints it: through a named pipe, to be given to the process as its
/// file of output.
///
/// Guarded by `state`.
final class ProcessOutput: Sendable {
    private struct State {
        var text = ""
        var isOver = false
        var waiters: [(part: String, times: Int, continuation: CheckedContinuation<Bool, Never>)] = []

        private func times(_ part: String) -> Int { text.components(separatedBy: part).count - 1 }

        /// Those whose wait is over, with whether their text came.
        mutating func takeWaiters() -> [(continuation: CheckedContinuation<Bool, Never>, found: Bool)] {
            let looked = waiters.map { waiter in
                // Not counted where it need not be: there may be megabytes.
                let isThere = text.contains(waiter.part)
                return (waiter, isThere && (waiter.times == 1 || times(waiter.part) >= waiter.times))
            }
            waiters = looked.filter { !$1 && !isOver }.map(\.0)
            return looked.filter { $1 || isOver }.map { ($0.continuation, $1) }
        }
    }

    private let state = Locked(State())

    /// - Parameter path: Where the pipe is to be. Whatever is there is removed.
    init(_ path: String) throws {
        unlink(path)
        let descriptor = mkfifo(path, 0o600) == 0 ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
        guard descriptor >= 0 else {
            throw ChildProcess.Failure(description: "no pipe at \(path): \(String(cString: strerror(errno)))")
        }
        // A thread, and no dispatch source: on Linux, those of many pipes that come and go crash Dispatch now
        // and then.
        Thread.detachNewThread { [self] in
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            repeat { poll(&ready, 1, -1) } while read(descriptor)
            close(descriptor)
        }
    }

    var text: String { state.withLock { $0.text } }

    /// Returns when the process has printed a text as often as that, or has ended without, or the task is cancelled.
    ///
    /// - Returns: Whether it was printed.
    func contains(_ part: String, times: Int = 1) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                resume { $0.waiters.append((part, times, continuation)) }
            }
        } onCancel: {
            resume { $0.isOver = true }
        }
    }

    private func resume(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.continuation.resume(returning: waiter.found) }
    }

    /// - Returns: Whether more may come.
    private func read(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return true }
        let text = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        resume { state in
            state.text += text
            if count <= 0 { state.isOver = true }
        }
        return count > 0
    }
}
#endif
