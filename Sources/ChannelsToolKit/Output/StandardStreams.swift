#if Tool
import Foundation
import Synchronization

/// Standard output and standard error, written without buffering and from any thread.
enum StandardStreams {
    /// Held while lines are written, because callbacks on several threads print.
    private static let writing = Mutex(())

    /// Call it before anything else is opened.
    static func prepare() {
        // A closed descriptor would be reused for the next file or socket, which would then be printed to.
        // These replacements make reading and printing fail instead.
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDWR)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Prints lines on standard output, or ends the process if that fails.
    static func show(_ lines: String) { if !showsToReader(lines) { end(bySignal: SIGPIPE) } }

    /// Prints lines on standard output, for a caller that still has something to do when the reader is gone.
    ///
    /// - Returns: False if the reader is gone.
    static func showsToReader(_ lines: String) -> Bool {
        var lines = lines
        lines.append("\n")
        let problem = writing.withLock { _ in write(&lines, to: STDOUT_FILENO) }
        guard let problem else { return true }
        if problem == EPIPE { return false }
        report("standard output: \(String(cString: strerror(problem)))")
        // Not `exit`, because on a thread of the C client it would wait for that thread.
        _exit(1)
    }

    /// Prints a line on standard error, with what could control a terminal escaped.
    static func report(_ text: String) {
        var line = "channels: \(text.escaped)\n"
        _ = writing.withLock { _ in write(&line, to: STDERR_FILENO) }
    }

    /// Calls a closure as soon as the other end of the output is closed. Otherwise the process would notice
    /// only when it prints something, which may be never.
    static func whenOutputIsClosed(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&output, 1, -1) < 0, errno == EINTR {}
            let isClosed = output.revents & Int16(POLLERR) != 0 && output.revents & Int16(POLLNVAL) == 0
            if isClosed { body() }
        }
    }

    /// Ends the process as if the signal had not been handled, so that a shell knows why.
    static func end(bySignal number: Int32) -> Never {
        signal(number, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        _exit(128 + number)
    }

    /// - Returns: The error, or nil.
    private static func write(_ text: inout String, to descriptor: Int32) -> Int32? {
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if count < 0, errno == EAGAIN {
                    // Another process that shares the descriptor has made it non-blocking.
                    var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&output, 1, -1)
                } else if count == 0 || errno != EINTR {
                    return count == 0 ? EIO : errno
                }
            }
            return nil
        }
    }
}
#endif
