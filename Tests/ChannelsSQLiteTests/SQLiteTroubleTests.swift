#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// A file that cannot be written, and a path that is relative.
@Suite(.hangLimit)
struct SQLiteTroubleTests {
    private let file = TemporaryFile()

    @Test(arguments: ["-wal", "-shm"]) func missingPartIsNoticedAndSaysWhatToDo(end: String) async throws {
        let (transport, events) = (SQLiteTransport(path: file.path), Recorder<String>())
        try await transport.connect { event in
            switch event {
            case .disconnected(let reason): events.record(reason?.detail ?? "")
            case .reconnected: events.record("back")
            default: break
            }
        }
        let (path, kept) = (file.path + end, file.path + "-kept")
        try FileManager.default.moveItem(atPath: path, toPath: kept)
        await events.wait(count: 1)
        #expect(events.all[0].contains("its \(end)") && events.all[0].contains("stop all processes that use it"))
        let error = await #expect(throws: BridgeError.self) { try await transport.publish(message("x"), durable: true) }
        #expect(error?.code == .notConnected)
        try FileManager.default.moveItem(atPath: kept, toPath: path)
        await events.wait(count: 2)
        #expect(events.all[1] == "back")
        try await transport.publish(message("x"), durable: true)
        try await transport.close(timeout: .patience)
    }

    @Test(arguments: [Duration.milliseconds(100), .seconds(30)])
    func lockIsNoticedByReadinessAndToldOnce(busyTimeout: Duration) async throws {
        let failures = Recorder<Fault>()
        let board = Switchboard(onFault: { failures.record($0) })
        let configuration = SQLiteConfiguration(path: file.path, busyTimeout: busyTimeout)
        let bridge = Bridge(
            "till",
            switchboard: board,
            transport: SQLiteTransport(configuration),
            routes: [.outgoing(.sold, durable: true)]
        )
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        let foreign = try file.foreignDatabase()
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        board[.sold].post(Sale(dish: "soup", total: 1))
        _ = await bridge.status.first { !$0.isReady }
        // A few attempts later.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 2.5) { continuation.resume() }
        }
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await bridge.waitUntilReady()
        let heard = try await SQLiteTransportReader(file).all(count: 1)
        #expect(heard.count == 1 && failures.count == 1)
        running.cancel()
        _ = await running.result
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// The working directory of a process may change at any time.
    /// A slash at its end leads to the same file.
    @Test func relativePathIsResolvedOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID())").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let manager = FileManager.default
            _ = manager.changeCurrentDirectoryPath(folder)
            let transport = SQLiteTransport(path: "shop.sqlite/")
            _ = manager.changeCurrentDirectoryPath("/")
            try await transport.connect { _ in }
            _ = manager.changeCurrentDirectoryPath("/tmp")
            try await transport.publish(TransportMessage(subject: "shop.sold", body: []), durable: true)
            try await transport.close(timeout: .seconds(60))
        }
        #expect(FileManager.default.fileExists(atPath: folder + "/shop.sqlite"))
    }
    #endif
}

/// Reads what a file has.
private struct SQLiteTransportReader {
    let file: TemporaryFile
    init(_ file: TemporaryFile) { self.file = file }

    func all(count: Int) async throws -> [String] {
        let transport = try await file.connected()
        let heard = try await hear("reader", on: transport)
        await heard.wait(count: count)
        try await transport.close(timeout: .patience)
        return heard.all
    }
}
#endif
