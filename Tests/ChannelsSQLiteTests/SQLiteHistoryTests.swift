#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// A file that goes back, or that is another one.
@Suite(.hangLimit)
struct SQLiteHistoryTests {
    private let file = TemporaryFile()

    /// Puts what a copy has in place of what the file has, as SQLite's own backup does.
    private func restore(_ copy: TemporaryFile) throws {
        let (source, target) = (try copy.foreignDatabase(), try file.foreignDatabase())
        try source.backup(to: target)
    }

    private func copied() throws -> TemporaryFile {
        let copy = TemporaryFile()
        let (source, target) = (try file.foreignDatabase(), try copy.foreignDatabase())
        try source.backup(to: target)
        return copy
    }

    @Test func olderCopyIsReportedOnceAndHeardFrom() async throws {
        let failures = Recorder<BridgeError>()
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let (heard, plain) = (try await hear("kitchen", on: reader), Recorder<String>())
        try await reader.subscribe(to: "shop.>", durableName: nil) { message in
            plain.record(String(decoding: message.message.body, as: UTF8.self))
        }
        try await reader.publish(message("old"), durable: true)
        await heard.wait(count: 1)
        let copy = try copied()
        for number in 0..<5 { try await reader.publish(message("\(number)"), durable: true) }
        await heard.wait(count: 6)
        try restore(copy)
        await failures.wait(count: 1)
        #expect(failures.all.map(\.code) == [.messagesLost])
        try await reader.publish(message("new"), durable: true)
        await heard.wait { $0.last == "new" }
        await plain.wait { $0.last == "new" }
        #expect(failures.count == 1)
        try await reader.close(timeout: .patience)
    }

    /// Whether or not the reader is a member.
    @Test(arguments: [false, true]) func whatIsPublishedByWhoIsToldOfAnOlderCopyIsHeard(isMember: Bool) async throws {
        let reader = SQLiteTransport(path: file.path)
        let (others, new) = (try file.foreignDatabase(), try message("new"))
        try await reader.connect { event in
            guard case .failed = event else { return }
            do {
                try others.write { _ = try SQLiteSchema.insert(new, durable: true, $0) }
            } catch { Issue.record(error) }
        }
        if isMember { _ = try await hear("kitchen", on: reader) }
        let plain = Recorder<String>()
        try await reader.subscribe(to: "shop.>", durableName: nil) { message in
            plain.record(String(decoding: message.message.body, as: UTF8.self))
        }
        let copy = try copied()
        try await reader.publish(message("lost"), durable: true)
        await plain.wait(count: 1)
        try restore(copy)
        await plain.wait(count: 2)
        #expect(plain.all == ["lost", "new"])
        try await reader.close(timeout: .patience)
    }

    /// Also where the numbers have caught up before it is looked at.
    @Test func messageOfAnotherCopyIsNotTakenForTheKnownOne() async throws {
        let database = try DatabaseQueue(path: file.path)
        try await database.write { db in
            try SQLiteSchema.prepare(db)
            for text in ["a", "b"] { _ = try SQLiteSchema.insert(message(text), durable: true, db) }
        }
        let known = try await database.read { try SQLiteMark("", $0) }
        #expect(try await database.read { try known.isKnown("", to: $0) })
        try await database.write { db in
            try db.execute(sql: "DELETE FROM channels_messages WHERE number = 2")
            // Removed, as retention does.
            #expect(try known.isKnown("", to: db))
            try db.execute(sql: "UPDATE sqlite_sequence SET seq = 1")
            #expect(try !known.isKnown("", to: db))
            for text in ["c", "d"] { _ = try SQLiteSchema.insert(message(text), durable: true, db) }
            #expect(try !known.isKnown("", to: db))
        }
    }

    /// The copy has no tables.
    @Test func aCopyFromBeforeTheFirstMessageIsBegunAgain() async throws {
        try await file.foreignDatabase().write { try $0.execute(sql: "CREATE TABLE orders (dish TEXT)") }
        let (copy, failures) = (try copied(), Recorder<BridgeError>())
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let heard = try await hear("kitchen", on: reader)
        try await reader.publish(message("lost"), durable: true)
        await heard.wait(count: 1)
        try restore(copy)
        #expect(await failures.wait(count: 1).map(\.code) == [.messagesLost])
        try await whenUnlocked { try await reader.publish(message("new"), durable: true) }
        #expect(await heard.wait(count: 2) == ["lost", "new"])
        try await reader.close(timeout: .patience)
    }

    /// A bridge holds as many as its prefetch limit.
    @Test func whatWasDeliveredBeforeAnOlderCopyIsNotHandledAfterIt() async throws {
        let (board, gate, failures, heard) = (
            Switchboard(onFault: { _ in }), Gate(), Recorder<Fault>(), Recorder<Int>()
        )
        let reader = Switchboard(onFault: { failures.record($0) })
        let token = reader[.sold].listen { sale in
            heard.record(sale.total)
            if sale.total == 1 { await gate.wait() }
        }
        let bridge = Bridge(
            "kitchen",
            switchboard: reader,
            transport: SQLiteTransport(path: file.path),
            routes: [.incoming(.sold, durable: true)]
        )
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        let copy = try copied()
        try await file.foreignDatabase().write { db in
            for total in 1...20 { try board[.sold].post(Sale(dish: "soup", total: total), in: db) }
        }
        await heard.wait(count: 1)
        try restore(copy)
        await failures.wait { $0.contains { "\($0)".contains("messagesLost") } }
        gate.open()
        try await file.foreignDatabase().write { try board[.sold].post(Sale(dish: "new", total: 100), in: $0) }
        await heard.wait { $0.contains(100) }
        #expect(heard.all == [1, 100])
        running.cancel()
        _ = await running.result
        withExtendedLifetime(token) {}
    }

    /// Also where no message was stored since: names have come, and messages were settled.
    @Test func copyWithTheSameMessagesIsNoticedToo() async throws {
        let failures = Recorder<BridgeError>()
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        try await reader.publish(message("soup"), durable: true)
        let copy = try copied()
        let heard = try await hear("kitchen", on: reader)
        await heard.wait(count: 1)
        try restore(copy)
        await failures.wait(count: 1)
        #expect(failures.all.map(\.code) == [.messagesLost])
        // The copy knows neither the name nor that it has settled.
        await heard.wait(count: 2)
        try await reader.publish(message("cake"), durable: true)
        await heard.wait(count: 3)
        #expect(heard.all == ["soup", "soup", "cake"] && failures.count == 1)
        try await reader.close(timeout: .patience)
    }

    /// It is taken once it does not change any more, and nothing of the old one is left that SQLite would read with it.
    @Test func fileThatIsPutInItsPlaceIsBegunAgain() async throws {
        let (failures, held) = (Recorder<BridgeError>(), Recorder<InboundMessage>())
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        try await reader.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        let copy = try copied()
        try await reader.publish(message("lost"), durable: true)
        await held.wait(count: 1)
        for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file.path + end) }
        await failures.wait(count: 1)
        #expect(failures.all[0].detail?.contains("was removed or replaced") == true)
        await #expect(throws: BridgeError.self) { try await reader.publish(message("nowhere"), durable: true) }
        try FileManager.default.moveItem(atPath: copy.path, toPath: file.path)
        await failures.wait { $0.contains { $0.code == .messagesLost } }
        try await whenUnlocked { try await reader.publish(message("kept"), durable: true) }
        await held.wait(count: 2)
        // It is of the file that is gone, where it had the number of the other one.
        held.all[0].settle?(.acknowledged)
        try await reader.publish(message("other", to: "elsewhere"), durable: true)
        let unsettled = try await file.foreignDatabase().read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_unsettled")
        }
        #expect(unsettled == 1)
        try await reader.close(timeout: .patience)
    }

    /// What another one has committed since then may be more than what was lost.
    @Test func memberNoticesACopyInWhichOthersHaveCommittedMore() async throws {
        let failures = Recorder<BridgeError>()
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let held = Recorder<InboundMessage>()
        try await reader.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        try await reader.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let copy = try copied()
        held.all[0].settle?(.acknowledged)
        try await reader.publish(message("1", to: "elsewhere"), durable: false)
        let (source, target) = (try copy.foreignDatabase(), try file.foreignDatabase())
        // In the copy, the message is not settled; and the file is changed more often than before.
        try await source.write { db in
            for _ in 0..<10 { try SQLiteMark.change("", db) }
        }
        try source.backup(to: target)
        await held.wait(count: 2)
        #expect(failures.all.map(\.code) == [.messagesLost])
        try await reader.close(timeout: .patience)
    }

    /// In a file that was repaired by hand, the number of a name may be given to another one.
    @Test func numberOfAnotherNameClaimsNothing() async throws {
        let transport = try await file.connected()
        for name in ["kitchen", "office"] {
            _ = try await hear(name, on: transport)
            try await transport.publish(message(name), durable: true)
        }
        let claiming = try await file.foreignDatabase().write { db in
            let subscription = TransportSubscription(to: "shop.>", durableName: "office")
            let office = SQLiteDurableName("office", subscription, HandlerQueue { _ in })
            var claiming = SQLiteClaiming([SQLiteCursor(name: office, id: 1, position: 0)], token: "me")
            try claiming.claim(db)
            return (claiming.missing, claiming.claims.count)
        }
        #expect(claiming == ([0], 0))
        try await transport.close(timeout: .patience)
    }

    /// The number of a message is that of another one in the copy.
    @Test func whatIsSettledOfALostFileSettlesNothingOfTheCopy() async throws {
        let failures = Recorder<BridgeError>()
        let reader = SQLiteTransport(path: file.path)
        try await reader.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let held = Recorder<InboundMessage>()
        try await reader.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        let copy = try copied()
        try await reader.publish(message("lost"), durable: true)
        await held.wait(count: 1)
        try restore(copy)
        await failures.wait(count: 1)
        try await reader.publish(message("kept"), durable: true)
        await held.wait(count: 2)
        held.all[0].settle?(.acknowledged)
        // Changes are made in the order of the calls.
        try await reader.publish(message("other", to: "elsewhere"), durable: true)
        let unsettled = try await file.foreignDatabase().read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_unsettled")
        }
        #expect(unsettled == 1)
        try await reader.close(timeout: .patience)
    }

    @Test func watchedStateGoesBackWithTheFile() async throws {
        let reader = SQLiteTransport(path: file.path)
        let lost = Recorder<String?>()
        try await reader.connect { if case .lastValuesLost(let subject) = $0 { lost.record(subject) } }
        let values = Recorder<StoredValue>()
        for subject in ["shop.open", "shop.new"] as [ChannelPattern] {
            try await reader.watch(subject) { values.record($0) }
        }
        _ = try await reader.store(message("old", to: "shop.open"))
        await values.wait(count: 1)
        let copy = try copied()
        for number in 0..<3 { _ = try await reader.store(message("\(number)", to: "shop.open")) }
        _ = try await reader.store(message("gone", to: "shop.new"))
        await values.wait { values in
            ["2", "gone"].allSatisfy { text in
                values.contains { String(decoding: $0.message.body, as: UTF8.self) == text }
            }
        }
        try restore(copy)
        await lost.wait(count: 2)
        #expect(lost.all == [nil, "shop.new"])
        await values.wait { $0.last.map { String(decoding: $0.message.body, as: UTF8.self) } == "old" }
        // A bridge takes only what is newer by its revision.
        let highest = values.all.dropLast().map(\.revision).max()!
        let old = values.all.last!.revision
        #expect(old > highest)
        #expect(try await reader.store(message("next", to: "shop.open")) > old)
        try await reader.close(timeout: .patience)
    }

    /// Others take it for one that has ended, and what it takes after that would stay with it.
    @Test func processThatOthersDoNotKnowAnyMoreBeginsAgain() async throws {
        let failures = Recorder<BridgeError>()
        let transport = SQLiteTransport(path: file.path)
        try await transport.connect { if case .failed(let error) = $0 { failures.record(error) } }
        let heard = try await hear("kitchen", on: transport)
        try await whenUnlocked { try await transport.publish(message("soup"), durable: true) }
        await heard.wait(count: 1)
        for name in file.companions(after: "-member-") { try FileManager.default.removeItem(atPath: name) }
        await failures.wait { $0.contains { $0.code == .messagesLost } }
        try await file.foreignDatabase().write { try $0.execute(sql: "DELETE FROM channels_members") }
        try await whenUnlocked { try await transport.publish(message("cake"), durable: true) }
        await heard.wait { $0.last == "cake" }
        #expect(failures.all.map(\.code).allSatisfy { $0 == .messagesLost || $0 == .notConnected })
        let other = try await file.connected()
        _ = try await hear("kitchen", on: other)
        #expect(file.companions(after: "-member-").count == 2)
        try await transport.close(timeout: .patience)
        try await other.close(timeout: .patience)
        #expect(file.companions(after: "-member-").isEmpty)
    }

    /// What SQLite keeps beside a database is where the link leads to.
    @Test func linkToAFileIsTheSameFile() async throws {
        let link = TemporaryFile()
        let transport = try await file.connected()
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: file.path)
        let other = try await link.connected()
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        try await transport.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let (heard, ticks) = (try await hear("kitchen", on: other), Tally())
        try await other.subscribe(to: "tick", durableName: nil) { _ in ticks.add() }
        for tick in 1...2 {
            try await other.publish(message("", to: "tick"), durable: false)
            await ticks.wait(until: tick)
        }
        #expect(heard.all.isEmpty && file.companions(after: "-member-").count == 2)
        try await transport.close(timeout: .patience)
        await heard.wait(count: 1)
        withExtendedLifetime(held) {}
        try await other.close(timeout: .patience)
    }
}
#endif
