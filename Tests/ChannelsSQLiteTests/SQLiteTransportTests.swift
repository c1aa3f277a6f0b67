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
struct SQLiteTransportTests {
    private let file = TemporaryFile()

    // MARK: Durable messages

    @Test func whatIsStoredOutlivesTheTransport() async throws {
        let first = try await file.connected()
        _ = try await hear("kitchen", on: first)
        try await first.close(within: .patience)
        let sender = try await file.connected()
        for number in 0..<100 { try await sender.publish(message("\(number)"), durable: true) }
        try await sender.close(within: .patience)
        let second = try await file.connected()
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 100)
        #expect(heard.all == (0..<100).map(String.init))
        try await second.close(within: .patience)
    }

    @Test func whatAKilledProcessHeldIsDeliveredToAnotherInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(within: .patience)
        let path = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let configuration = SQLiteConfiguration(path: path, acknowledgementWait: .seconds(1))
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
        try await second.close(within: .patience)
    }

    /// What a killed process had taken comes before what was stored later, also to one that is there at once.
    @Test func aProcessThatIsStartedAgainHearsInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(within: .patience)
        let path = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let transport = SQLiteTransport(SQLiteConfiguration(path: path, acknowledgementWait: .seconds(1)))
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
        try await second.close(within: .patience)
    }

    @Test func slowProcessDelaysANewcomerForOneAcknowledgementWait() async throws {
        let slow = try await file.connected()
        let held = Recorder<InboundMessage>()
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen", unsettledLimit: 1)
        try await slow.subscribe(subscription) { held.record($0) }
        try await slow.publish(message("held"), durable: true)
        await held.wait(count: 1)
        let newcomer = try await file.connected(
            SQLiteConfiguration(path: file.path, acknowledgementWait: .milliseconds(100))
        )
        try await slow.publish(message("new"), durable: true)
        let heard = try await hear("kitchen", on: newcomer)
        await heard.wait(count: 1)
        #expect(heard.all == ["new"])
        try await newcomer.close(within: .patience)
        try await slow.close(within: .patience)
    }

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
        // What is stored in the transaction, it finds as soon as that has ended, and cannot take until then.
        try await foreign.writeWithoutTransaction { db in
            _ = try SQLiteSchema.insert(message("cake"), durable: true, db)
            try db.execute(sql: "COMMIT; BEGIN IMMEDIATE")
        }
        await failures.wait(count: 2)
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        await held.wait(count: 3)
        #expect(Set(held.all.map { String(decoding: $0.message.body, as: UTF8.self) }) == ["soup", "cake"])
        #expect(held.all.contains { $0.deliveryCount == 2 })
        try await transport.close(within: .patience)
    }

    @Test func whatAProcessHoldsStaysItsOwnWhileItLives() async throws {
        let configuration = SQLiteConfiguration(path: file.path)
        let session = try await SQLiteSession(configuration, HandlerQueue { Issue.record("\($0)") })
        let second = try await file.connected(configuration)
        let held = Recorder<InboundMessage>()
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen")
        try await session.subscribe(SQLiteDurableName(subscription, "kitchen", HandlerQueue { held.record($0) }))
        try await second.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let lease = "SELECT due FROM channels_unsettled"
        let first = try await session.file.read { try Double.fetchOne($0, sql: lease)! }
        try await session.extendLeases()
        let extended = try await session.file.read { try Double.fetchOne($0, sql: lease)! }
        #expect(extended > first)
        let (heard, ticks) = (try await hear("kitchen", on: second), Tally())
        try await second.subscribe(to: "tick", durableName: nil) { _ in ticks.add() }
        // With the second tick, the look that found the first has ended, in which the name looked for more.
        for tick in 1...2 {
            try await second.publish(message("", to: "tick"), durable: false)
            await ticks.wait(until: tick)
        }
        #expect(heard.all.isEmpty)
        held.all[0].settle?(.retry(after: .zero))
        #expect(await session.close(within: .patience) == nil)
        await heard.wait(count: 1)
        #expect(heard.all == ["soup"])
        try await second.close(within: .patience)
    }

    @Test func aProcessThatIsBusyLeavesMessagesToAnotherOfItsName() async throws {
        // A newcomer waits so long for what others hold.
        let configuration = SQLiteConfiguration(path: file.path, acknowledgementWait: .milliseconds(300))
        let busy = try await file.connected(configuration)
        var kitchen = TransportSubscription(to: "shop.>", durableName: "kitchen")
        kitchen.unsettledLimit = 10_000
        let held = Recorder<InboundMessage>()
        try await busy.subscribe(kitchen) { held.record($0) }
        for number in 0..<300 {
            try await busy.publishDurably(message("\(number)", id: "\(number)"), isRepeated: false) { _ in }
        }
        await held.wait(count: 256)
        let other = try await file.connected(configuration)
        let heard = try await hear("kitchen", on: other)
        await heard.wait(count: 44)
        #expect(held.count == 256)
        try await other.close(within: .patience)
        try await busy.close(within: .patience)
    }

    @Test func whatAConnectionHoldsIsNotGivenToItAgain() async throws {
        // So short that it is over before it is extended, as on a machine that is busy.
        let configuration = SQLiteConfiguration(path: file.path, acknowledgementWait: .milliseconds(1))
        let transport = try await file.connected(configuration)
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
        for number in 0..<20 {
            try await transport.publish(message("\(number)"), durable: true)
            await held.wait(count: number + 1)
        }
        #expect(held.all.map { String(decoding: $0.message.body, as: UTF8.self) } == (0..<20).map(String.init))
        try await transport.close(within: .patience)
    }

    /// The later one had taken what comes first, so that the rest is due before it.
    @Test func whatTwoKilledProcessesHeldIsTakenInOrder() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(within: .patience)
        let database = try DatabasePool(path: file.path)
        let messages = try (0..<4).map { try message("\($0)") }
        try await database.write { db in
            for message in messages { _ = try SQLiteSchema.insert(message, durable: true, db) }
            let leases = """
                INSERT INTO channels_unsettled (consumer, number, deliveries, due, holder)
                VALUES (1, 1, 2, 9e12, 'second'), (1, 2, 2, 9e12, 'second'), (1, 3, 1, 0, 'first')
                """
            try db.execute(sql: leases)
            try db.execute(sql: "UPDATE channels_consumers SET position = 3")
        }
        func take(waitingFor number: Int64?) async throws -> [Int64] {
            let taking = SQLiteTaking(
                id: 1,
                pattern: "shop.>",
                most: 10,
                bytes: .max,
                holder: "me",
                lease: 5,
                waitsFor: number
            )
            return try await database.write { try taking.take($0).taken.map(\.number) }
        }
        #expect(try await take(waitingFor: 3) == [])
        try await database.write { try $0.execute(sql: "UPDATE channels_unsettled SET due = 0 WHERE number = 1") }
        #expect(try await take(waitingFor: 3) == [1])
        // No longer than that.
        #expect(try await take(waitingFor: nil) == [3, 4])
        try await database.write { try $0.execute(sql: "UPDATE channels_unsettled SET due = 0 WHERE number = 2") }
        #expect(try await take(waitingFor: 3) == [2])
    }

    /// Whoever has to wait for the lock of the file has the whole lease all the same.
    @Test func aLeaseBeginsWhenAMessageIsTaken() async throws {
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(within: .patience)
        let database = try DatabasePool(path: file.path)
        let message = try message("soup")
        _ = try await database.write { try SQLiteSchema.insert(message, durable: true, $0) }
        let taking = SQLiteTaking(
            id: 1,
            pattern: "shop.>",
            most: 1,
            bytes: .max,
            holder: "me",
            lease: 0.01,
            waitsFor: nil
        )
        let taken = try await database.write { db in
            let start = Date.now.timeIntervalSince1970
            while Date.now.timeIntervalSince1970 < start + 0.01 {}
            let begin = Date.now.timeIntervalSince1970
            #expect(try taking.take(db).taken.count == 1)
            return try Double.fetchOne(db, sql: "SELECT due FROM channels_unsettled")! - begin
        }
        // Not to the last digit: the times are numbers of seconds since 1970.
        #expect(taken > 0.009)
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
                    try await transport.close(within: .patience)
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
        for reader in readers { try await reader.close(within: .patience) }
    }
}
#endif
