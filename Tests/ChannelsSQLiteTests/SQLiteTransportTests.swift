#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// Durable messages: their order, and who holds them.
@Suite(.hangLimit)
struct SQLiteTransportTests {
    private let file = TemporaryFile()

    // MARK: Durable messages

    @Test func whatIsStoredOutlivesTheTransport() async throws {
        let first = try await file.connected()
        _ = try await hear("kitchen", on: first)
        try await first.close(timeout: .patience)
        let sender = try await file.connected()
        for number in 0..<100 { try await sender.publish(message("\(number)"), durable: true) }
        try await sender.close(timeout: .patience)
        let second = try await file.connected()
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 100)
        #expect(heard.all == (0..<100).map(String.init))
        try await second.close(timeout: .patience)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func whatAKilledProcessHeldIsDeliveredToAnotherInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(timeout: .patience)
        let path = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let configuration = SQLiteConfiguration(path: path)
            let transport = SQLiteTransport(configuration)
            try await transport.connect { _ in }
            for number in 0..<20 {
                try await transport.publish(
                    TransportMessage(subject: "shop.sold", body: Array("\(number)".utf8)),
                    durable: true
                )
            }
            let held = Recorder<InboundMessage>()
            try await transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
                if held.count < 5 { message.settle?(.acknowledged) }
                held.record(message)
            }
            await held.wait(count: 20)
            // Writes are made in the order of the calls: the five are settled before this is stored.
            try await transport.publish(TransportMessage(subject: "elsewhere", body: []), durable: true)
            kill(getpid(), SIGKILL)
        }
        let second = try await file.connected()
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 15)
        #expect(heard.all == (5..<20).map(String.init))
        try await second.close(timeout: .patience)
    }

    /// What a killed process had taken comes before what was stored later, also to one that is there at once.
    @Test func aProcessThatIsStartedAgainHearsInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(timeout: .patience)
        let path = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let transport = SQLiteTransport(path: path)
            try await transport.connect { _ in }
            for number in 0..<20 {
                let message = try TransportMessage(subject: "shop.sold", body: Array("\(number)".utf8))
                try await transport.publish(message, durable: true)
            }
            let held = Recorder<InboundMessage>()
            try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
            await held.wait(count: 20)
            kill(getpid(), SIGKILL)
        }
        let second = try await file.connected()
        for number in 20..<30 { try await second.publish(message("\(number)"), durable: true) }
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 30)
        #expect(heard.all == (0..<30).map(String.init))
        try await second.close(timeout: .patience)
    }
    #endif

    /// A file that is locked when a message is settled, or looked for, is tried again.
    @Test func whatTheFileRefusesForAWhileIsDoneLater() async throws {
        let failures = Recorder<BridgeError>()
        let transport = SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: .milliseconds(50)))
        try await transport.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
        try await transport.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let foreign = try file.foreignDatabase()
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        held.all[0].settle?(.retry(after: .zero))
        await failures.wait(count: 1)
        try await foreign.writeWithoutTransaction { db in
            _ = try SQLiteSchema.insert(message("cake"), durable: true, db)
            try db.execute(sql: "COMMIT")
        }
        await held.wait(count: 3)
        #expect(Set(held.all.map { String(decoding: $0.message.body, as: UTF8.self) }) == ["soup", "cake"])
        #expect(held.all.contains { $0.deliveryCount == 2 } && failures.count == 1)
        try await transport.close(timeout: .patience)
    }

    /// No clock says who lives, so it may be stopped as long as it likes.
    @Test func whatAProcessHoldsStaysItsOwnWhileItLives() async throws {
        let first = try await file.connected()
        let second = try await file.connected()
        let held = Recorder<InboundMessage>()
        try await first.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        try await second.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let (heard, ticks) = (try await hear("kitchen", on: second), Tally())
        try await second.subscribe(to: "tick", durableName: nil) { _ in ticks.add() }
        // With the second tick, the look that found the first has ended, in which the name looked for more.
        for tick in 1...2 {
            try await second.publish(message("", to: "tick"), durable: false)
            await ticks.wait(until: tick)
        }
        #expect(heard.all.isEmpty)
        try await first.close(timeout: .patience)
        await heard.wait(count: 1)
        #expect(heard.all == ["soup"])
        withExtendedLifetime(held) {}
        try await second.close(timeout: .patience)
    }

    /// The back-off is counted by the connection that has the message, also where another could take it.
    @Test func messageThatIsToWaitStaysWithItsProcess() async throws {
        let (first, second) = (try await file.connected(), try await file.connected())
        let held = Recorder<InboundMessage>()
        try await first.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { message in
            held.record(message)
            message.settle?(.retry(after: .seconds(3_600)))
        }
        try await second.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let (heard, ticks) = (Recorder<Int>(), Tally())
        try await second.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { message in
            heard.record(message.deliveryCount)
            message.settle?(.acknowledged)
        }
        try await second.subscribe(to: "tick", durableName: nil) { _ in ticks.add() }
        for tick in 1...2 {
            try await second.publish(message("", to: "tick"), durable: false)
            await ticks.wait(until: tick)
        }
        #expect(heard.all.isEmpty)
        // Whoever has it ends: then it is anybody's, at once.
        try await first.close(timeout: .patience)
        await heard.wait(count: 1)
        #expect(heard.all == [2])
        try await second.close(timeout: .patience)
    }

    @Test(arguments: [256, 3])
    func aProcessThatIsBusyLeavesMessagesToAnotherOfItsName(limit: Int) async throws {
        let busy = try await file.connected()
        var kitchen = TransportSubscription(to: "shop.>", durableName: "kitchen")
        kitchen.prefetchLimit = limit
        let held = Recorder<InboundMessage>()
        try await busy.subscribe(kitchen) { held.record($0) }
        for number in 0..<300 {
            try await busy.publishDurably(message("\(number)", id: "\(number)"), isRepeated: false) { _ in }
        }
        await held.wait(count: limit)
        let other = try await file.connected()
        let heard = try await hear("kitchen", on: other)
        await heard.wait(count: 300 - limit)
        #expect(held.count == limit && heard.count == 300 - limit)
        try await other.close(timeout: .patience)
        try await busy.close(timeout: .patience)
    }

    @Test func whatTwoKilledProcessesHeldIsTakenInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(timeout: .patience)
        let database = try DatabasePool(path: file.path)
        let messages = try (0..<4).map { try message("\($0)") }
        try await database.write { db in
            for message in messages { _ = try SQLiteSchema.insert(message, durable: true, db) }
            let held = """
                INSERT INTO channels_members (token) VALUES ('first'), ('second');
                INSERT INTO channels_unsettled (consumer, number, deliveries, holder)
                VALUES (1, 1, 2, 'second'), (1, 2, 2, 'second'), (1, 3, 1, 'first');
                UPDATE channels_consumers SET position = 3
                """
            try db.execute(sql: held)
        }
        let later = try await file.connected()
        let heard = try await hear("kitchen", on: later)
        await heard.wait(count: 4)
        #expect(heard.all == ["0", "1", "2", "3"])
        try await later.close(timeout: .patience)
    }

    /// A durable name of which somebody has removed the row is entered anew, and says so.
    @Test func nameThatIsRemovedBeginsAgainWithAFault() async throws {
        let (transport, failures) = (SQLiteTransport(path: file.path), Recorder<BridgeError>())
        try await transport.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let heard = try await hear("kitchen", on: transport)
        try await transport.publish(message("soup"), durable: true)
        await heard.wait(count: 1)
        let foreign = try file.foreignDatabase()
        try await foreign.write { try $0.execute(sql: "DELETE FROM channels_consumers") }
        try await transport.publish(message("cake"), durable: true)
        await heard.wait(count: 3)
        #expect(heard.all == ["soup", "soup", "cake"])
        #expect(failures.all.map(\.code) == [.messagesLost])
        // Its number was not given again.
        #expect(try await foreign.read { try Int.fetchOne($0, sql: "SELECT id FROM channels_consumers") } == 2)
        try await transport.close(timeout: .patience)
    }

    @Test func nameThatIsUsedIsNotForgotten() async throws {
        let (transport, tool) = (try await file.connected(), try await file.connected())
        _ = try await hear("kitchen", on: transport)
        let used = await #expect(throws: BridgeError.self) { try await tool.forget("kitchen") }
        #expect(used?.code == .refused && used?.detail?.contains("a running process uses") == true)
        try await transport.close(timeout: .patience)
        #expect(try await tool.forget("kitchen") == ["shop.>"])
        let unknown = await #expect(throws: BridgeError.self) { try await tool.forget("kitchen") }
        #expect(unknown?.code == .refused && unknown?.detail?.contains("there is no durable name") == true)
        try await tool.close(timeout: .patience)
    }

    /// One that is far ahead is not kept waiting by one that has much to read.
    @Test func nameThatIsUpToDateClaimsBesideOneWithABacklog() async throws {
        let transport = try await file.connected()
        let cursors = try await file.foreignDatabase().write { db in
            for number in 0..<6_000 { _ = try SQLiteSchema.insert(message("\(number)"), durable: true, db) }
            _ = try SQLiteSchema.insert(message("now", to: "bank.paid"), durable: true, db)
            let names = (["shop.>", "bank.>"] as [ChannelPattern]).map { pattern in
                let subscription = TransportSubscription(to: pattern, durableName: "books", prefetchLimit: 10)
                return SQLiteDurableName("books", subscription, HandlerQueue { _ in })
            }
            var cursors = try names.map { try $0.join("me", db) }
            // It has read all that was stored before.
            cursors[1].passed = 6_000
            var claiming = SQLiteClaiming(cursors, token: "me")
            try claiming.claim(db)
            return claiming.cursors.map { ($0.room.count, $0.mayHaveMore) }
        }
        #expect(cursors[0] == (10, true) && cursors[1] == (1, false))
        try await transport.close(timeout: .patience)
    }

    /// Nothing can be claimed until something is settled: it is not tried again and again.
    @Test func nameWithoutRoomForTheNextMessageWaits() throws {
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen", prefetchByteLimit: 1_500)
        let name = SQLiteDurableName("kitchen", subscription, HandlerQueue { _ in })
        var cursor = SQLiteCursor(name: name, id: 1, position: 0)
        #expect(cursor.claims(bytes: 600) && cursor.claims(bytes: 600) && cursor.hasRoom)
        #expect(!cursor.claims(bytes: 600) && cursor.mayHaveMore && !cursor.hasRoom)
        cursor.release(bytes: 600)
        #expect(cursor.hasRoom && cursor.claims(bytes: 600) && cursor.hasRoom)
    }

    /// Nobody would know whose turn it is.
    @Test func groupWithoutADurableNameIsRefusedWithWhatToWrite() async throws {
        let transport = try await file.connected()
        #expect(!transport.capabilities.contains(.groups))
        let error = await #expect(throws: BridgeError.self) {
            try await transport.subscribe(TransportSubscription(to: "shop.>", group: "cooks")) { _ in }
        }
        #expect(error?.code == .unsupported && error?.detail?.contains("make the route durable") == true)
        try await transport.close(timeout: .patience)
    }

    @Test func writersAndReadersLoseNothingAndKeepTheOrderOfEach() async throws {
        let readers = try await withThrowingTaskGroup(of: SQLiteTransport.self) { group in
            for _ in 0..<3 { group.addTask { try await file.connected() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var heard: [Recorder<String>] = []
        for (index, reader) in readers.enumerated() { heard.append(try await hear("reader-\(index)", on: reader)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in ["a", "b"] {
                group.addTask {
                    let transport = try await file.connected()
                    for number in 0..<500 {
                        let message = try message("\(writer) \(number)", id: "\(writer)-\(number)")
                        try await transport.publishDurably(message, isRepeated: false) { #expect($0 == nil) }
                    }
                    try await transport.close(timeout: .patience)
                }
            }
            try await group.waitForAll()
        }
        for recorder in heard {
            await recorder.wait(count: 1_000)
            for writer in ["a", "b"] {
                #expect(recorder.all.filter { $0.hasPrefix(writer) } == (0..<500).map { "\(writer) \($0)" })
            }
        }
        for reader in readers { try await reader.close(timeout: .patience) }
    }

    /// After an older copy was restored, a number is given again. These are two files instead.
    @Test func identitiesTellApartMessagesWithOneNumber() async throws {
        var identities: [[String?]] = []
        for _ in 0..<2 {
            let file = TemporaryFile()
            let transport = try await file.connected()
            let heard = Recorder<InboundMessage>()
            try await transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
                heard.record(message)
                message.settle?(.retry(after: .zero))
            }
            try await transport.publish(message("soup"), durable: true)
            let deliveries = await heard.wait(count: 2)
            #expect(deliveries.prefix(2).map(\.sequence) == [1, 1])
            identities.append(deliveries.prefix(2).map(\.identity))
            try await transport.close(timeout: .patience)
        }
        #expect(identities[0][0] == identities[0][1] && identities[0][0] != identities[1][0])
    }

    @Test(arguments: [11, 1_000, UInt64.max]) func aStartBeyondTheNewestMessageIsTheNextOne(number: UInt64) async throws
    {
        let file = TemporaryFile()
        let transport = try await file.connected()
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        let heard = try await hear("kitchen", on: transport, from: .sequence(number))
        try await transport.publish(message("next"), durable: true)
        #expect(await heard.wait(count: 1) == ["next"])
        try await transport.close(timeout: .patience)
    }
}
#endif
