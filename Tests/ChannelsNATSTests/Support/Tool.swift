#if NATS
import Foundation

/// The tool `channels` as it was built, run as a process that talks to a server.
struct Tool: Sendable {
    /// What a process has printed, and how it ended.
    struct Result: Sendable {
        let status: Int32
        let output: String
        let errors: String
    }

    let server: NATSServer
    /// Beside the tests.
    static let path: String = {
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder = tests?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        return folder.appending(path: "channels").path
    }()

    init(_ server: NATSServer) {
        self.server = server
    }

    /// Runs it to its end.
    func run(_ arguments: String..., input: String = "") async throws -> Result {
        try await script("\"$@\" <\"$INPUT\"", arguments: [Self.path] + arguments, input: input)
    }

    /// Runs a shell script, in which `$TOOL` is the tool and `$FOLDER` a folder of this run.
    func script(_ text: String, arguments: [String] = [], input: String = "") async throws -> Result {
        let folder = server.folder.appending(path: "run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "input")
        try input.write(to: file, atomically: true, encoding: .utf8)
        let preparation = """
            export NATS_URL='\(server.url)' TOOL='\(Self.path)' FOLDER='\(folder.path)' INPUT='\(file.path)'
            exec >"$FOLDER/output" 2>"$FOLDER/errors"

            """
        let status: Int32 = try await onThread {
            try ChildProcess.run(
                "sh",
                ["-c", preparation + text, "sh"] + arguments,
                output: folder.appending(path: "shell").path
            )
        }
        func contents(of name: String) -> String {
            let bytes = FileManager.default.contents(atPath: folder.appending(path: name).path)
            return String(decoding: bytes ?? Data(), as: UTF8.self)
        }
        return Result(status: status, output: contents(of: "output"), errors: contents(of: "errors"))
    }

    /// Starts it, and returns when it has printed a text, on standard output or standard error.
    func start(_ arguments: String..., until text: String) async throws -> Running {
        let path = server.folder.appending(path: "pipe-\(UUID().uuidString)").path
        let output = try ProcessOutput(path)
        let script = "export NATS_URL='\(server.url)'; \"$@\" & echo pid $!; wait $!; echo status $?"
        let process = try ChildProcess("sh", ["-c", script, "sh", Self.path] + arguments, output: path)
        guard await output.contains("pid "), await output.contains("\n") else {
            throw ChildProcess.Failure(description: "the tool was not started")
        }
        let number = output.text.drop { !$0.isNumber }.prefix(while: \.isNumber)
        let running = Running(shell: process, pid: pid_t(number) ?? 0, output: output)
        guard await output.contains(text) else { throw ChildProcess.Failure(description: "'\(output.text)'") }
        return running
    }

    /// A tool that is running. It is killed with this object.
    final class Running: Sendable {
        private let shell: ChildProcess
        let pid: pid_t
        /// What it prints. When it ends: `status` and its exit status.
        let output: ProcessOutput

        init(shell: ChildProcess, pid: pid_t, output: ProcessOutput) {
            self.shell = shell
            self.pid = pid
            self.output = output
        }

        /// The lines that it has printed so far.
        var lines: [String] {
            output.text.split(separator: "\n").map(String.init).filter {
                !$0.hasPrefix("pid ") && !$0.hasPrefix("status ")
            }
        }

        deinit {
            if !output.text.contains("\nstatus ") { kill(pid, SIGKILL) }
        }
    }

    /// Waiting for a process would keep a thread of the pool.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: body)) }
        }
    }
}
#endif
