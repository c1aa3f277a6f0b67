#if NATS
import Channels
import Foundation

/// A process that is killed with this object, and when this process ends in any way.
final class ChildProcess: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Of the process itself.
    let pid: pid_t
    private let shell: pid_t
    private let lifeline: Int32
    private let isOver = Locked(false)

    /// Starts a program with what it prints going to a file.
    init(_ program: String, _ arguments: [String], output: String) throws {
        // One at a time: between the making of a pipe and its `FD_CLOEXEC`, a child that is started elsewhere
        // would inherit it.
        (shell, lifeline, pid) = try Self.starting.withLock { _ in try Self.start(program, arguments, output) }
    }

    private static let starting = Locked(())

    private static func start(_ program: String, _ arguments: [String], _ output: String) throws -> (
        pid_t, Int32, pid_t
    ) {
        let (lifelineRead, lifelineWrite) = try pipe()
        let (pidRead, pidWrite) = try pipe()
        defer { for descriptor in [lifelineRead, pidRead, pidWrite] { close(descriptor) } }
        // The shell ends the program when its input ends: when this process does, or lets go of the pipe.
        let script = "\"$@\" >\"$0\" 2>&1 </dev/null & echo $!; exec 1>&- 2>/dev/null; read -r _; kill -9 $!; wait $!"
        let shell = try spawn(["-c", script, output, program] + arguments, input: lifelineRead, output: pidWrite)
        // One line, written at once.
        var line = [UInt8](repeating: 0, count: 32)
        let count = read(pidRead, &line, line.count)
        let pid =
            pid_t(
                String(decoding: line.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(
                    in: .whitespacesAndNewlines
                )
            ) ?? 0
        guard pid > 0 else {
            close(lifelineWrite)
            throw Failure(description: "\(program) was not started")
        }
        return (shell, lifelineWrite, pid)
    }

    /// Runs a program to its end.
    ///
    /// - Returns: Its exit status; below 0 where a signal ended it.
    static func run(_ program: String, _ arguments: [String], output: String) throws -> Int32 {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        let shell = try starting.withLock { _ in
            try spawn(["-c", "exec \"$@\" >\"$0\" 2>&1", output, program] + arguments, input: nothing, output: nothing)
        }
        let status = wait(for: shell)
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    private static func spawn(_ arguments: [String], input: Int32, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // The sockets of the C client: as long as a child has them, too, the server does not see them closed.
        // One that is not open is no error.
        for descriptor in Int32(3)..<1_024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of Dispatch block signals; a shell that inherits that never hears of its child's end.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words = (["sh"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var shell: pid_t = 0
        let status = posix_spawn(&shell, "/bin/sh", &actions, &attributes, &words, environ)
        guard status == 0 else {
            throw Failure(description: "no process can be started: \(String(cString: strerror(status)))")
        }
        return shell
    }

    private static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    deinit { end() }

    /// Kills it, and returns when it is gone.
    func end() {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        guard isFirst else { return }
        kill(pid, SIGKILL)
        close(lifeline)
        _ = Self.wait(for: shell)
    }

    func signal(_ number: Int32) {
        kill(pid, number)
    }

    /// Both ends are not passed on to children: another one would keep the pipe open.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else {
            throw Failure(description: "no pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
#endif
