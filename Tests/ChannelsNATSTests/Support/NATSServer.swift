#if NATS
import Channels
import Foundation

/// A real `nats-server` on a free port of 127.0.0.1, with a JetStream folder of its own. Stopped and removed
/// with this object, and also when the process of the tests ends in any way.
final class NATSServer: Sendable {
    struct Options: Sendable {
        /// Further lines of the configuration file.
        var configuration = ""
        var jetStream = true
        var port: Int?
        var clusterPort: Int?
        var clusterPorts: [Int] = []
        var name = "test"
    }

    private struct State {
        var process: ChildProcess?
        var output: ProcessOutput?
        var port = 0
    }

    let folder: URL
    let options: Options
    private let state = Locked(State())

    init(_ options: Options = Options()) async throws {
        self.options = options
        folder = FileManager.default.temporaryDirectory.appending(path: "channels-nats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var attempts = options.port == nil ? 5 : 1
        while port == 0 {
            attempts -= 1
            // Somebody else may take a port that was free a moment ago.
            do { try await start() } catch let failure as ChildProcess.Failure
                where attempts > 0 && failure.description.contains("address already in use")
            {}
        }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    var port: Int { state.withLock { $0.port } }
    var url: String { "nats://127.0.0.1:\(port)" }

    /// Starts the server, on the same port and with the same files as before if there was a before. Returns
    /// when it accepts connections.
    ///
    /// - Parameter configuration: Further lines of the configuration file, instead of those of the options.
    func start(_ configuration: String? = nil) async throws {
        let before = state.withLock { $0.port }
        // Not one that the system gives to connections: a client that tries again and again while the server is away
        // may be given it, and then connects to itself.
        let port = before > 0 ? before : try options.port ?? freePorts(1)[0]
        let file = try writeFile(configuration, port: port)
        let path = folder.appending(path: "log").path
        let output = try ProcessOutput(path)
        let process = try ChildProcess("nats-server", ["-c", file.path], output: path)
        state.withLock { ($0.process, $0.output) = (process, output) }
        let listening = "Listening for client connections on 127.0.0.1:"
        guard await output.contains("Server is ready"),
            let port = output.text.split(separator: listening).last?.prefix(while: \.isNumber),
            let port = Int(port)
        else {
            throw ChildProcess.Failure(description: "nats-server did not start: \(output.text.suffix(500))")
        }
        state.withLock { $0.port = port }
    }

    /// As a power cut does. Returns when the server is gone.
    func kill() {
        let process = state.withLock { state in
            defer { state.process = nil }
            return state.process
        }
        process?.end()
    }

    /// Lets the server end by itself, so that it stores what it knows. Returns when it is gone.
    func stop() async {
        signal(SIGTERM)
        _ = await state.withLock { $0.output }?.contains("Server Exiting")
        kill()
    }

    /// Removes what JetStream has stored. The server must not be running.
    func loseStorage() throws {
        try FileManager.default.removeItem(at: folder.appending(path: "jetstream"))
    }

    /// Copies what JetStream has stored, for ``restoreStorage(from:)``. The server must not be running.
    func copyStorage() throws -> URL {
        let copy = folder.appending(path: "copy")
        try FileManager.default.copyItem(at: folder.appending(path: "jetstream"), to: copy)
        return copy
    }

    func restoreStorage(from copy: URL) throws {
        try loseStorage()
        try FileManager.default.moveItem(at: copy, to: folder.appending(path: "jetstream"))
    }

    /// Lets the running server read other further lines.
    func reload(_ configuration: String) throws {
        _ = try writeFile(configuration, port: port)
        signal(SIGHUP)
    }

    /// Returns when the server has logged a text as often as that.
    func waitForLog(_ part: String, times: Int) async {
        _ = await state.withLock { $0.output }?.contains(part, times: times)
    }

    func pause() { signal(SIGSTOP) }
    func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        state.withLock { $0.process }?.signal(number)
    }

    private func writeFile(_ configuration: String?, port: Int) throws -> URL {
        let file = folder.appending(path: "server.conf")
        try configurationFile(configuration, port: port).write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    private func configurationFile(_ configuration: String?, port: Int) -> String {
        var lines = ["host: 127.0.0.1", "port: \(port)", "server_name: \(options.name)"]
        if options.jetStream, configuration?.contains("jetstream: disabled") != true {
            lines.append("jetstream { store_dir: \"\(folder.path)/jetstream\", max_file: 256MB, max_mem: 64MB }")
        }
        if let clusterPort = options.clusterPort {
            let routes = options.clusterPorts.map { "nats://127.0.0.1:\($0)" }.joined(separator: ", ")
            lines.append("cluster { name: shop, listen: \"127.0.0.1:\(clusterPort)\", routes: [\(routes)] }")
        }
        return (lines + [configuration ?? options.configuration]).joined(separator: "\n") + "\n"
    }
}

/// Ports of 127.0.0.1 that are free now, and stay so: they are below those that the system gives to connections, and
/// no other test of this process is given them, which may start a server while theirs is down.
func freePorts(_ count: Int) throws -> [Int] {
    try (0..<count).map { _ in
        for _ in 0..<1_000 {
            guard let (descriptor, port) = try? boundSocket(.random(in: 10_000..<32_000)) else { continue }
            close(descriptor)
            if givenPorts.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw ChildProcess.Failure(description: "no free ports")
    }
}

private let givenPorts = Locked<Set<Int>>([])

/// A TCP socket bound to a port of 127.0.0.1: a free one for 0.
func boundSocket(_ port: UInt16 = 0) throws -> (descriptor: Int32, port: Int) {
    #if canImport(Glibc)
    let stream = Int32(SOCK_STREAM.rawValue)
    #else
    let stream = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, stream, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
        // sockaddr_in is laid out as a sockaddr: that is how the calls are made.
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(descriptor, pointer, length) == 0 ? getsockname(descriptor, pointer, &length) : -1
        }
    }
    guard status == 0 else {
        close(descriptor)
        throw ChildProcess.Failure(description: "port \(port) is taken")
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
}
#endif
