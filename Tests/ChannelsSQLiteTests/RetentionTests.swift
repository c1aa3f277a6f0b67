#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// What is removed beyond the limits, and what is kept for whom.
@Suite(.hangLimit)
struct RetentionTests {
    private let file = TemporaryFile()

    @Test func retentionKeepsWhatADurableNameHasNotSettled() async throws {
        let database = try DatabasePool(path: file.path)
        let transport = try await file.connected()
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        await held.wait(count: 10)
        try await transport.close(timeout: .patience)
        let retention = SQLiteConfiguration.Retention(messages: 2)
        let kept = try await pruned(retention, database)
        #expect(kept == 10)
    }

    @Test func retentionLimitsNumberAgeAndBytes() async throws {
        let database = try DatabasePool(path: file.path)
        let transport = try await file.connected()
        let body = String(repeating: "x", count: 10_000)
        for _ in 0..<10 { try await transport.publish(message(body), durable: true) }
        try await transport.close(timeout: .patience)
        #expect(try await pruned(.init(messages: 10, bytes: 1 << 20), database) == 10)
        #expect(try await pruned(.init(messages: 8), database) == 8)
        #expect(try await pruned(.init(bytes: 50_000), database) == 5)
        let old = "UPDATE channels_messages SET time = time - 100 WHERE number <= 7"
        try await database.write { try $0.execute(sql: old) }
        #expect(try await pruned(.init(age: .seconds(50)), database) == 3)
    }

    /// Nothing that it is to hear is stored, so it needs nothing of it.
    @Test func retentionDoesNotKeepWhatNoNameMatches() async throws {
        let database = try DatabasePool(path: file.path)
        let transport = try await file.connected()
        try await transport.subscribe(to: "bank.>", durableName: "books") { _ in }
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        try await transport.close(timeout: .patience)
        #expect(try await pruned(.init(messages: 2), database) == 2)
    }

    /// Each of them passes what the other one needs nothing of, without writing that.
    @Test func retentionDoesNotWaitForNamesThatPassMessagesInTwoProcesses() async throws {
        let transports = [try await file.connected(), try await file.connected()]
        for (transport, pattern) in zip(transports, ["bank.paid", "bank.owed"] as [ChannelPattern]) {
            try await transport.subscribe(to: pattern, durableName: "books") { $0.settle?(.acknowledged) }
        }
        for number in 0..<10 { try await transports[0].publish(message("\(number)"), durable: true) }
        let database = try file.foreignDatabase()
        let ids = try await database.read { try Int64.fetchAll($0, sql: "SELECT id FROM channels_consumers") }
        // As the two connections do, by turns.
        for id in ids { try remove(.init(messages: 2), passed: [id: 10]) }
        #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_messages") } == 2)
        for transport in transports { try await transport.close(timeout: .patience) }
    }

    /// Positions are saved even by a process whose own limits are not reached.
    @Test func aProcessWithHigherLimitsHoldsUpNobody() async throws {
        let transports = [try await file.connected(), try await file.connected()]
        for (transport, pattern) in zip(transports, ["bank.>", "rare.>"] as [ChannelPattern]) {
            try await transport.subscribe(to: pattern, durableName: "books") { $0.settle?(.acknowledged) }
        }
        for number in 0..<10 { try await transports[0].publish(message("\(number)"), durable: true) }
        let database = try file.foreignDatabase()
        let ids = try await database.read { try Int64.fetchAll($0, sql: "SELECT id FROM channels_consumers") }
        try remove(.init(), passed: [ids[1]: 10])
        try remove(.init(messages: 2), passed: [ids[0]: 10])
        #expect(try await count(database) == 2)
        for transport in transports { try await transport.close(timeout: .patience) }
    }

    /// Neither the position of the box nor the letters that it has passed hold back others.
    @Test func lettersGoWithOtherMessagesAfterOneWasPutBack() async throws {
        let database = try DatabasePool(path: file.path)
        let transport = try await file.connected()
        for text in ["left", "back"] {
            let letter = try TransportMessage(
                subject: "dead.shop.sold",
                headers: ["dead-letter-subject": "shop.sold"],
                body: Array(text.utf8)
            )
            try await transport.publish(letter, durable: true)
        }
        let (box, last) = (DeadLetterBox("dead"), try #require(try await letters().last))
        _ = try await box.putBack(last.id, over: SQLiteTransport(path: file.path))
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        try await transport.close(timeout: .patience)
        #expect(try await pruned(.init(messages: 2), database) == 2)
        let left = "SELECT COUNT(*) FROM channels_unsettled"
        #expect(try await database.read { try Int.fetchOne($0, sql: left) } == 0)
        #expect(try await letters().isEmpty)
    }

    private func letters() async throws -> [DeadLetterBox.Letter] {
        try await DeadLetterBox("dead").letters(over: SQLiteTransport(path: file.path))
    }

    /// Otherwise nothing would be removed by processes that end before the first portion is due.
    @Test func aProcessThatEndsRemovesAPortion() async throws {
        let transport = try await file.connected(
            SQLiteConfiguration(path: file.path, retention: .init(messages: 2), busyTimeout: .seconds(86_400))
        )
        let heard = try await hear("kitchen", on: transport)
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        await heard.wait(count: 10)
        try await transport.close(timeout: .patience)
        let database = try file.foreignDatabase()
        #expect(try await count(database) == 2)
    }

    /// A new version of a program may use its name with another pattern. The former one holds back messages.
    @Test func forgettingANameRemovesThePatternsThatNobodyUses() async throws {
        let (former, current) = (try await file.connected(), try await file.connected())
        try await former.subscribe(to: "shop.sold", durableName: "kitchen") { _ in }
        try await former.close(timeout: .patience)
        try await current.subscribe(to: "shop.*", durableName: "kitchen") { _ in }
        let tool = try await file.connected()
        #expect(try await tool.forget("kitchen") == ["shop.sold"])
        let error = await #expect(throws: BridgeError.self) { try await tool.forget("kitchen") }
        #expect(error?.code == .refused)
        try await current.close(timeout: .patience)
        #expect(try await tool.forget("kitchen") == ["shop.*"])
        try await tool.close(timeout: .patience)
    }

    private func count(_ database: some DatabaseReader) async throws -> Int? {
        try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_messages") }
    }

    /// What is left once messages beyond the limits were removed.
    private func pruned(_ retention: SQLiteConfiguration.Retention, _ database: DatabasePool) async throws -> Int {
        try remove(retention, passed: [:])
        return try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_messages")! }
    }

    private func remove(_ retention: SQLiteConfiguration.Retention, passed: [Int64: Int64]) throws {
        let session = try FileSession(SQLiteConfiguration(path: file.path), FileEnvironment())
        defer { session.end() }
        let removal = SQLiteRemoval(limits: retention, passed: passed, time: Timestamp.now.secondsSince1970)
        while try !session.write(isSynchronized: false, { try removal.remove($0) }) {}
    }
}
#endif
