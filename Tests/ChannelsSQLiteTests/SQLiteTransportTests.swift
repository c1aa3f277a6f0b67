#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

struct Sale: Codable, Sendable, Equatable {
    var dish: String
    var total: Int
}

extension ChannelName<Sale> {
    static var sold: Self { "shop.sold" }
}

struct SQLiteTransportTests {
    private let file = TemporaryFile()

    private func connected(_ configuration: SQLiteConfiguration? = nil) async throws -> SQLiteTransport {
        let transport = SQLiteTransport(configuration ?? SQLiteConfiguration(path: file.path))
        try await transport.connect { event in
            if case .failed(let error) = event { Issue.record("\(error)") }
        }
        return transport
    }

    private func message(_ text: String, to subject: String = "shop.sold", id: String? = nil) throws -> TransportMessage
    {
        try TransportMessage(subject: subject, headers: id.map { ["ce-id": $0] } ?? [:], body: Array(text.utf8))
    }

    /// What a durable name hears, settled.
    private func hear(_ name: String, on transport: SQLiteTransport, from start: ReplayStart? = nil) async throws
        -> Recorder<String>
    {
        let heard = Recorder<String>()
        let subscription = TransportSubscription(to: "shop.>", durableName: name, start: start)
        try await transport.subscribe(subscription) { message in
            heard.record(String(decoding: message.message.body, as: UTF8.self))
            message.settle?(.acknowledged)
        }
        return heard
    }

    // MARK: Durable messages

    @Test func whatIsStoredOutlivesTheTransport() async throws {
        let first = try await connected()
        _ = try await hear("kitchen", on: first)
        try await first.close(within: .seconds(5))
        let sender = try await connected()
        for number in 0..<100 { try await sender.publish(message("\(number)"), durable: true) }
        try await sender.close(within: .seconds(5))
        let second = try await connected()
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 100)
        #expect(heard.all == (0..<100).map(String.init))
        try await second.close(within: .seconds(5))
    }

    @Test func whatAKilledProcessHeldComesFirstForTheNext() async throws {
        let transport = try await connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(within: .seconds(5))
        let path = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            // Nobody waits for so long here.
            let configuration = SQLiteConfiguration(path: path, acknowledgementWait: .seconds(3_600))
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
        let second = try await connected()
        try await second.publish(message("20"), durable: true)
        let heard = try await hear("kitchen", on: second)
        await heard.wait(count: 16)
        #expect(heard.all == (5...20).map(String.init))
        try await second.close(within: .seconds(5))
    }

    @Test func whatAProcessHoldsStaysItsOwnWhileItLives() async throws {
        let configuration = SQLiteConfiguration(path: file.path)
        let session = try await SQLiteSession(configuration, HandlerQueue { Issue.record("\($0)") })
        let second = try await connected(configuration)
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
        #expect(await session.close() == nil)
        await heard.wait(count: 1)
        #expect(heard.all == ["soup"])
        try await second.close(within: .seconds(5))
    }

    @Test func whatAConnectionHoldsIsNotGivenToItAgain() async throws {
        // So short that it is over before it is extended, as on a machine that is busy.
        let configuration = SQLiteConfiguration(path: file.path, acknowledgementWait: .milliseconds(1))
        let transport = try await connected(configuration)
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
        for number in 0..<20 {
            try await transport.publish(message("\(number)"), durable: true)
            await held.wait(count: number + 1)
        }
        #expect(held.all.map { String(decoding: $0.message.body, as: UTF8.self) } == (0..<20).map(String.init))
        try await transport.close(within: .seconds(5))
    }

    @Test func writersAndReadersAtATimeLoseNothingAndKeepTheOrderOfEach() async throws {
        let readers = try await withThrowingTaskGroup(of: SQLiteTransport.self) { group in
            for _ in 0..<3 { group.addTask { try await connected() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var heard: [Recorder<String>] = []
        for (index, reader) in readers.enumerated() { heard.append(try await hear("reader-\(index)", on: reader)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in ["a", "b"] {
                group.addTask {
                    let transport = try await connected()
                    for number in 0..<500 {
                        let message = try message("\(writer) \(number)", id: "\(writer)-\(number)")
                        try await transport.publishDurably(message, isRepeated: false) { #expect($0 == nil) }
                    }
                    try await transport.close(within: .seconds(5))
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
        for reader in readers { try await reader.close(within: .seconds(5)) }
    }

    // MARK: Outbox and relay

    @Test func aMessageInATransactionIsHeardAfterTheCommitAndNeverAfterARollback() async throws {
        struct Refusal: Error {}
        var settings = Configuration()
        settings.busyMode = .timeout(60)
        let database = try DatabasePool(path: file.path, configuration: settings)
        try await database.write { try $0.execute(sql: "CREATE TABLE orders (dish TEXT)") }
        let (board, other) = (Switchboard(), Switchboard())
        let heard = Recorder(of: other[.sold])
        let bridge = Bridge(
            "kitchen",
            switchboard: other,
            transport: SQLiteTransport(path: file.path),
            routes: [.incoming(.sold, durable: true).replaying(from: .stored)]
        )
        let running = Task { try await bridge.run() }
        try await database.write { db in
            try db.execute(sql: "INSERT INTO orders VALUES ('soup')")
            try board[.sold].post(Sale(dish: "soup", total: 4), in: db)
        }
        await #expect(throws: Refusal.self) {
            try await database.write { db in
                try board[.sold].post(Sale(dish: "never", total: 0), in: db)
                throw Refusal()
            }
        }
        try await database.write { try board[.sold].post(Sale(dish: "cake", total: 3), in: $0) }
        await heard.wait(count: 2)
        #expect(heard.all == [Sale(dish: "soup", total: 4), Sale(dish: "cake", total: 3)])
        running.cancel()
        _ = await running.result
    }

    @Test func theChannelOfATypeHasNoOutbox() async throws {
        let database = try DatabaseQueue()
        let error = await #expect(throws: BridgeError.self) {
            try await database.write { try Switchboard()[Sale.self].post(Sale(dish: "soup", total: 1), in: $0) }
        }
        #expect(error?.code == .invalidName)
    }

    @Test func aRelayHandsOnInOrderAndContinuesAfterAnOutage() async throws {
        let broker = InMemoryBroker(limits: .init(replayedMessages: 1_000))
        let receiver = InMemoryTransport(broker)
        try await receiver.connect { _ in }
        let heard = Recorder<String>()
        try await receiver.subscribe(to: "shop.>", durableName: "far") { message in
            heard.record(String(decoding: message.message.body, as: UTF8.self))
            message.settle?(.acknowledged)
        }
        let target = InMemoryTransport(broker)
        let sender = try await connected()
        for number in 0..<50 { try await sender.publish(message("\(number)", id: "id-\(number)"), durable: true) }
        let failures = Recorder<BridgeError>()
        let relay = Relay(
            from: SQLiteTransport(path: file.path),
            to: target,
            matching: "shop.>",
            backoff: Backoff(first: .milliseconds(1), limit: .milliseconds(10)),
            onFailure: { failures.record($0) }
        )
        let running = Task { try await relay.run() }
        await heard.wait(count: 50)
        target.breakConnection()
        for number in 50..<60 { try await sender.publish(message("\(number)", id: "id-\(number)"), durable: true) }
        await failures.wait(count: 1)
        target.restoreConnection()
        await heard.wait(count: 60)
        #expect(heard.all == (0..<60).map(String.init))
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        try await sender.close(within: .seconds(5))
        try await receiver.close(within: .seconds(5))
    }

    // MARK: Retention

    @Test func retentionKeepsWhatADurableNameHasNotSettled() async throws {
        let database = try DatabasePool(path: file.path)
        let transport = try await connected()
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { held.record($0) }
        for number in 0..<10 { try await transport.publish(message("\(number)"), durable: true) }
        await held.wait(count: 10)
        try await transport.close(within: .seconds(5))
        let retention = SQLiteConfiguration.Retention(messages: 2)
        let kept = try await pruned(retention, database)
        #expect(kept == (10, 0))
        let lossy = SQLiteConfiguration.Retention(messages: 2, keepsUnsettled: false)
        let lost = try await pruned(lossy, database)
        #expect(lost == (2, 8))
    }

    private func pruned(
        _ retention: SQLiteConfiguration.Retention,
        _ database: DatabasePool
    ) async throws -> (left: Int, lost: Int) {
        try await database.write { db in
            let lost = try SQLiteRetention.prune(db, retention)
            return (try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channels_messages")!, lost)
        }
    }

    // MARK: Bad files

    private func failure(of path: String) async -> BridgeError? {
        await #expect(throws: BridgeError.self) { try await SQLiteTransport(path: path).connect { _ in } }
    }

    @Test func aFileThatCannotBeUsedIsNamedWithWhatToDo() async throws {
        let folder = FileManager.default.temporaryDirectory.path()
        let missing = await failure(of: "/nowhere/at/all.sqlite")
        #expect(missing?.detail?.contains("/nowhere/at/all.sqlite: the file cannot be opened") == true)
        let isFolder = await failure(of: folder)
        #expect(isFolder?.detail?.contains(folder) == true)
        try Data(
            "this is not a database, and is longer than its header would be, which has 100 bytes in it ........".utf8
        )
        .write(to: URL(filePath: file.path))
        let foreign = await failure(of: file.path)
        #expect(foreign?.detail?.contains("\(file.path): this is no SQLite database") == true)
    }

    @Test func tablesOfANewerVersionAreRefusedWithBothVersions() async throws {
        try await connected().close(within: .seconds(5))
        try await DatabaseQueue(path: file.path).write { try $0.execute(sql: "UPDATE channels_schema SET version = 7") }
        let newer = await failure(of: file.path)
        #expect(newer?.code == .settingsDiffer)
        #expect(newer?.detail?.contains("version 7") == true && newer?.detail?.contains("knows 1") == true)
    }

    @Test func aForeignLockIsWaitedForAndThenNamed() async throws {
        // What it does by itself meanwhile fails, too.
        let transport = SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: .milliseconds(100)))
        try await transport.connect { _ in }
        let foreign = try DatabaseQueue(path: file.path)
        let error = try await foreign.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            defer { try? db.execute(sql: "ROLLBACK") }
            let failed = DispatchSemaphore(value: 0)
            let thrown = Slot<BridgeError>()
            let message = try message("late")
            Task {
                do { try await transport.publish(message, durable: true) } catch {
                    thrown.value = error as? BridgeError
                }
                failed.signal()
            }
            failed.wait()
            return thrown.value
        }
        #expect(error?.code == .notConnected && error?.detail?.contains("locked") == true)
        try await transport.publish(message("later"), durable: true)
        try await transport.close(within: .seconds(5))
    }

    @Test func bodiesHaveALimit() async throws {
        let transport = try await connected(SQLiteConfiguration(path: file.path, bodyLimit: 10))
        let error = await #expect(throws: BridgeError.self) {
            try await transport.publish(message("more than ten bytes"), durable: false)
        }
        #expect(error?.code == .payloadTooLarge)
        try await transport.close(within: .seconds(5))
    }

    // MARK: Bridges

    @Test func theListenersOfABridgeDoNotNoticeTheDifference() async throws {
        let (till, kitchen) = (Switchboard(), Switchboard())
        let heard = Recorder(of: kitchen[.sold])
        let states = Recorder(of: kitchen.state("shop.open", initial: false))
        let bridges = [
            Bridge(
                "till",
                switchboard: till,
                transport: SQLiteTransport(path: file.path),
                routes: [.outgoing(.sold, durable: true), .both(state: "shop.open", initial: false)]
            ),
            Bridge(
                "kitchen",
                switchboard: kitchen,
                transport: SQLiteTransport(path: file.path),
                routes: [
                    .incoming(.sold, durable: true).replaying(from: .stored), .both(state: "shop.open", initial: false),
                ]
            ),
        ]
        let running = bridges.map { bridge in Task { try await bridge.run() } }
        till.state("shop.open", initial: false).set(true)
        let report = await till[.sold].postAndWait(Sale(dish: "soup", total: 4))
        #expect(report.failures.isEmpty)
        await heard.wait(count: 1)
        _ = await states.wait { $0.last == true }
        #expect(heard.all == [Sale(dish: "soup", total: 4)])
        for task in running {
            task.cancel()
            _ = await task.result
        }
    }
}

/// A variable for closures that run on any thread.
private final class Slot<Value: Sendable>: @unchecked Sendable {  // guarded by its lock
    private let lock = NSLock()
    private var stored: Value?
    var value: Value? {
        get { lock.withLock { stored } }
        set { lock.withLock { stored = newValue } }
    }
}
#endif
