#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// The write-ahead log, and what waits for the disk.
@Suite(.hangLimit)
struct DurabilityTests {
    private let file = TemporaryFile()

    // MARK: The write-ahead log

    @Test func lastProcessLeavesNothingInTheLog() async throws {
        let transports = [try await file.connected(), try await file.connected()]
        for transport in transports { _ = try await hear("kitchen", on: transport) }
        for number in 0..<100 { try await transports[0].publish(message("\(number)"), durable: true) }
        for transport in transports { try await transport.close(timeout: .patience) }
        let folder = URL(filePath: file.path).deletingLastPathComponent().path()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasPrefix(URL(filePath: file.path).lastPathComponent) }
        #expect(left == [URL(filePath: file.path).lastPathComponent])
    }

    /// A reader keeps the log from being used again, until it ends.
    @Test func logIsMadeSmallAfterALongReader() async throws {
        let session = try FileSession(SQLiteConfiguration(path: file.path), FileEnvironment())
        let reader = try file.foreignDatabase()
        try await reader.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channels_messages")
        }
        let body = String(repeating: "x", count: 1 << 20)
        for _ in 0..<20 {
            try session.write(isSynchronized: false) { _ = try SQLiteSchema.insert(message(body), durable: true, $0) }
        }
        func size() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: file.path + "-wal")[.size] as? Int ?? 0
        }
        session.shortenLog()
        #expect(try size() > FileSession.logLimit)
        // One that reads what is newest is not waited for either.
        try await reader.writeWithoutTransaction { db in
            try db.execute(sql: "COMMIT; BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channels_messages")
        }
        session.shortenLog()
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        session.shortenLog()
        #expect(try size() == 0)
        session.end()
    }

    // MARK: Durability

    /// Nothing but a system call shows whether the disk has it.
    @Test func settingIsInForceForWhatIsStored() throws {
        let session = try FileSession(SQLiteConfiguration(path: file.path), FileEnvironment())
        let seen = try [true, false, true].map { isSynchronized in
            try session.write(isSynchronized: isSynchronized) { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        }
        #expect(seen == [2, 1, 2])
        session.end()
    }

    /// The log is the only place where it is until it is moved into the file.
    @Test func whatIsWrittenToALogThatIsGoneIsNotAcknowledged() throws {
        var environment = FileEnvironment()
        environment.willCommit = { [path = file.path] in try FileManager.default.removeItem(atPath: path + "-wal") }
        let session = try FileSession(SQLiteConfiguration(path: file.path), environment)
        let error = #expect(throws: BridgeError.self) {
            try session.write(isSynchronized: true) { _ = try SQLiteSchema.insert(message("soup"), durable: true, $0) }
        }
        #expect(error?.detail?.contains("its -wal, which has the latest messages, was removed") == true)
        session.end()
    }

    /// Which of them waits for the disk: those that are durable, and what somebody waits for.
    @Test func onlyDurableMessagesAreSynchronised() {
        typealias Change = CommitQueue.Change
        for (kind, isSynchronized) in [
            (Change.Kind.message, true), (.task, true), (.plain, false), (.settling, false), (.upkeep, false),
        ] {
            var commits = CommitQueue(busyTimeout: .seconds(1))
            _ = commits.add(Change(kind: kind) { _, _ in })
            #expect(commits.next(.now)?.isSynchronized == isSynchronized)
        }
    }
}
#endif
