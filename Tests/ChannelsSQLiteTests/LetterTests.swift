#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import GRDBSQLite
import TestSupport
import Testing

/// Dead letters one by one, and what an operator sees of a file.
@Suite(.hangLimit)
struct LetterTests {
    private let file = TemporaryFile()
    private let box = DeadLetterBox("dead")

    private func over() -> SQLiteTransport { SQLiteTransport(path: file.path) }

    /// Keeps letters of messages `m1`, `m2` and so on.
    private func keep(_ count: Int, for name: String = "kitchen") async throws {
        let transport = try await file.connected()
        for number in 1...count {
            let error = BridgeError(.tooManyFailures, subject: "shop.sold", detail: "it's 100 % wrong")
            let letter = DeadLetter(
                message: try message("\(number)", id: "m\(number)"),
                error: error,
                deliveryCount: number
            )
            try await transport.keep(letter, on: "dead.shop.sold", for: name)
        }
        try await transport.close(timeout: .patience)
    }

    @Test func aLetterTellsItsMessageAndWhyItWasKept() async throws {
        try await keep(2)
        let letters = try await box.letters(over: over())
        #expect(letters.map(\.id) == ["1", "2"] && letters.map(\.deliveryCount) == [1, 2])
        let letter = try #require(letters.first)
        #expect(letter.message == (try message("1", id: "m1")))
        #expect(letter.durableName == "kitchen" && letter.messageID == "m1")
        #expect(letter.reason == "tooManyFailures on 'shop.sold', it's 100 % wrong")
        #expect(letter.secondsSince1970 != nil)
        #expect(
            "\(letter)" == """
                letter 1 on 'shop.sold', 1 header, 1 byte: 1 for 'kitchen', delivered 1 time: \
                tooManyFailures on 'shop.sold', it's 100 % wrong
                """
        )
    }

    @Test func aLetterIsPutBackAloneAndOnceAndTheOthersAreLeft() async throws {
        try await keep(4)
        let transport = try await file.connected()
        let heard = try await hear("kitchen", on: transport)
        #expect(try await box.putBack("3", over: over()).message.subject == "shop.sold")
        #expect(try await box.putBack("m1", over: over()).id == "1")
        #expect(await heard.wait(count: 2) == ["3", "1"])
        #expect(try await box.letters(over: over()).map(\.id) == ["2", "4"])
        for id in ["3", "m3"] {
            let error = await #expect(throws: BridgeError.self) { try await box.putBack(id, over: over()) }
            #expect(error?.code == .refused && "\(error!)".contains("there is no letter"))
        }
        #expect(try await box.putBack(over: over(), atMost: 2) == 2)
        #expect(await heard.wait(count: 4) == ["3", "1", "2", "4"])
        #expect(try await box.letters(over: over()).isEmpty)
        try await transport.close(timeout: .patience)
    }

    /// Messages that nobody holds, of names that nobody here has.
    @Test func aLookDoesNotReadWhatOtherNamesHaveToSettle() throws {
        let database = try DatabaseQueue(path: file.path)
        try database.write { db in
            try SQLiteSchema.prepare(db)
            try db.execute(
                sql: """
                    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000)
                    INSERT INTO channels_unsettled SELECT 1 + n % 3, n, 1, NULL FROM numbers
                    """
            )
            var reading = SQLiteReading()
            reading.add(SQLiteReading.Plain(pattern: "shop.>", after: 0, queue: HandlerQueue { _ in }))
            var hundreds = 0
            sqlite3_progress_handler(
                db.sqliteConnection,
                100,
                { count in
                    count?.assumingMemoryBound(to: Int.self).pointee += 1
                    return 0
                },
                &hundreds
            )
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            _ = try reading.read(db, ofOthers: false)
            #expect(hundreds < 10)
        }
    }

    @Test func aDroppedLetterIsGone() async throws {
        try await keep(2)
        #expect(try await box.drop("m1", over: over()).id == "1")
        #expect(try await box.letters(over: over()).map(\.id) == ["2"])
        let error = await #expect(throws: BridgeError.self) { try await box.drop("1", over: over()) }
        #expect(error?.code == .refused && "\(error!)".contains("there is no letter '1'"))
        #expect(try await box.putBack(over: over(), atMost: 1) == 1)
    }

    @Test func anIdentifierThatSeveralLettersHaveIsRefusedWithTheirNumbers() async throws {
        try await keep(1)
        try await keep(1, for: "bar")
        let error = await #expect(throws: BridgeError.self) { try await box.putBack("m1", over: over()) }
        #expect(error?.code == .refused && "\(error!)".contains("letters 1, 2 have the message 'm1'"))
        #expect(try await box.putBack("2", over: over()).durableName == "bar")
        #expect(try await box.putBack("m1", over: over()).durableName == "kitchen")
    }

    @Test func aToolLooksWhileAnotherProgramHasLockedTheFile() async throws {
        try await keep(1)
        let database = try file.foreignDatabase()
        try await database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        var configuration = SQLiteConfiguration(path: file.path, busyTimeout: .patience)
        configuration.isObserver = true
        let transport = try await file.connected(configuration)
        #expect(try await box.letter("m1", connected: transport).id == "1")
        #expect(try await transport.storeStatus(deadLetters: "dead").first?.deadLetters == 1)
        #expect(try await transport.totals().messages == 1)
        try await transport.close(timeout: .patience)
        try await database.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    }

    // MARK: Status

    @Test func theStatusOfAFileTellsWhatIsLeftAndWhoHoldsAName() async throws {
        try await keep(3)
        _ = try await box.putBack("2", over: over())
        let transport = try await file.connected()
        let release = Recorder<InboundMessage>()
        let subscription = TransportSubscription(to: "shop.>", durableName: "kitchen", prefetchLimit: 1)
        try await transport.subscribe(subscription) { release.record($0) }
        for text in ["a", "b"] { try await transport.publish(message(text), durable: true) }
        await release.wait(count: 1)
        let database = try file.foreignDatabase()
        // Not the newest, by which a connection knows its file.
        let age = "UPDATE channels_messages SET time = time - 3600 WHERE number < 6"
        try await database.write { try $0.execute(sql: age) }

        let status = try #require(try await transport.storeStatus(deadLetters: "dead").first)
        #expect(status.name == "messages" && status.deadLetters == 2)
        #expect(status.fileBytes ?? 0 > 0 && status.logBytes ?? 0 > 0)
        #expect(try #require(status.commitAge) < .patience)
        let kitchen = try #require(status.names.first { $0.name == "kitchen" })
        #expect(kitchen.pattern == "shop.>" && kitchen.waiting == 2 && kitchen.unsettled == 1)
        #expect(try #require(kitchen.oldestAge) > .seconds(3_500))
        let process = ProcessInfo.processInfo
        #expect(kitchen.processes == 1)
        #expect(kitchen.holders?.map(\.process) == ["\(process.processName)[\(process.processIdentifier)]"])
        #expect(try #require(kitchen.holders?.first).age < .patience)
        #expect(try await transport.storeStatus(deadLetters: "other").first?.deadLetters == 0)
        #expect(try await transport.storeStatus(deadLetters: nil).first?.deadLetters == nil)
        try await transport.close(timeout: .patience)
        withExtendedLifetime(release) {}
    }

    @Test func aBridgeThatRunsTellsWhatItsTransportHasStored() async throws {
        try await keep(1)
        let bridge = Bridge(
            "kitchen",
            switchboard: Switchboard(),
            transport: over(),
            routes: [.incoming(.sold, durable: true)],
            configuration: BridgeConfiguration(deadLetters: "dead")
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.storeStatus() }
        #expect(error?.code == .notConnected)
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        let status = try await bridge.storeStatus()
        #expect(status.map(\.deadLetters) == [1] && status.flatMap(\.names).map(\.name) == ["kitchen"])
        running.cancel()
        try await running.value
    }
}
#endif
