import ChannelsTesting
import Foundation

/// A process that ends when this object is released, or when this process ends in any way.
final class ChildProcess: Sendable {
    /// The lines that it prints to standard output or standard error, followed by "" when it has ended.
    let lines = Recorder<String>()
    private let pid: pid_t
    /// The process runs while this is open.
    private let lifeline: Pipe

    /// The shell ends the program when its input ends. It prints the process identifier, and then the exit
    /// status.
    private static let script = """
        exec 3<&0
        "$0" "$@" 2>&1 3<&- </dev/null & child=$!
        (cat <&3 >/dev/null; kill -9 $child 2>/dev/null) >/dev/null 2>&1 & guard=$!
        echo "process $child"
        wait $child; status=$?
        kill $guard 2>/dev/null
        echo "ended with $status"
        """

    init(_ program: String, _ arguments: [String]) async throws {
        let shell = Process()
        let output = Pipe()
        lifeline = Pipe()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", Self.script, program] + arguments
        shell.standardInput = lifeline
        shell.standardOutput = output
        try Self.withoutBlockedSignals { try shell.run() }
        let file = output.fileHandleForReading
        Thread.detachNewThread { [lines] in
            var rest = ""
            while case let data = file.availableData, !data.isEmpty {
                rest += String(decoding: data, as: UTF8.self)
                while let end = rest.firstIndex(of: "\n") {
                    lines.record(String(rest[..<end]))
                    rest = String(rest[rest.index(after: end)...])
                }
            }
            lines.record("")
        }
        let first = await lines.first(1)
        guard let pid = first.first.flatMap({ pid_t($0.dropFirst("process ".count)) }) else {
            throw NotStarted(lines: first)
        }
        self.pid = pid
    }

    /// Runs a body without blocked signals. A thread of Dispatch may block signals, and a shell that inherits
    /// that does not notice the end of its child.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try body()
    }

    deinit { try? lifeline.fileHandleForWriting.close() }

    /// Returns the rest of the first line that begins with a text.
    func line(_ start: String) async throws -> String {
        let lines = await lines.wait { $0.last == "" || $0.contains { $0.hasPrefix(start) } }
        guard let line = lines.first(where: { $0.hasPrefix(start) }) else { throw NotStarted(lines: lines) }
        return String(line.dropFirst(start.count))
    }

    /// Ends the process as a crash would.
    func kill() async throws { _ = try await end(SIGKILL) }

    /// Asks the process to end, and returns its exit status.
    func terminate() async throws -> String { try await end(SIGTERM) }

    private func end(_ signal: Int32) async throws -> String {
        Foundation.kill(pid, signal)
        return try await line("ended with ")
    }

    struct NotStarted: Error { let lines: [String] }
}
