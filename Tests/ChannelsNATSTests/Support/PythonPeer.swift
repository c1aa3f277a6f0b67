#if NATS
import Foundation

/// A client in another language: `Python/peer.py`, over nats-py and with the CloudEvents SDK, which `Scripts/nats`
/// installs in `.build-python`.
final class PythonPeer: Sendable {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private static let python = folder.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: ".build-python/bin/python").path

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python) }

    private let process: ChildProcess
    private let output: ProcessOutput

    /// Starts it, and returns when it is subscribed, if the command subscribes.
    init(_ server: NATSServer, _ command: String, _ arguments: String...) async throws {
        let script = Self.folder.appending(path: "Python/peer.py").path
        let path = server.folder.appending(path: "python-\(UUID().uuidString)").path
        output = try ProcessOutput(path)
        process = try ChildProcess(Self.python, [script, server.url, command] + arguments, output: path)
        guard ["hear", "fetch", "respond"].contains(command) else { return }
        guard await output.contains("READY") else { throw ChildProcess.Failure(description: output.text) }
    }

    /// Waits until it has done what it was told to.
    ///
    /// - Returns: The events that it has printed.
    @discardableResult
    func events() async throws -> [Event] {
        guard await output.contains("DONE") else { throw ChildProcess.Failure(description: output.text) }
        return try output.text.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
            try JSONDecoder().decode(Event.self, from: Data($0.utf8))
        }
    }

    /// An event, as the SDK reads it.
    struct Event: Decodable, Equatable {
        var subject: String
        var type: String
        var source: String
        var id: String
        var hasTime: Bool
        var data: [String: Int]
    }
}
#endif
