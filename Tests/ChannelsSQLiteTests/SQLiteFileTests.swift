#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// What a file holds, for whom, and what is wrong with it.
@Suite(.hangLimit)
struct SQLiteFileTests {
    private let file = TemporaryFile()

    // MARK: Outbox

    @Test(arguments: ["", "north"]) func messageInATransactionIsHeardAfterItsCommitOnly(prefix: String) async throws {
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
            routes: [.incoming(.sold, durable: true).replaying(from: .beginning)],
            configuration: BridgeConfiguration(subjectPrefix: prefix)
        )
        let running = Task { try await bridge.run() }
        try await database.write { db in
            try db.execute(sql: "INSERT INTO orders VALUES ('soup')")
            try board[.sold].post(Sale(dish: "soup", total: 4), subjectPrefix: prefix, in: db)
        }
        await #expect(throws: Refusal.self) {
            try await database.write { db in
                try board[.sold].post(Sale(dish: "never", total: 0), subjectPrefix: prefix, in: db)
                throw Refusal()
            }
        }
        let cake = Sale(dish: "cake", total: 3)
        try await database.write { try board[.sold].post(cake, subjectPrefix: prefix, in: $0) }
        await heard.wait(count: 2)
        #expect(heard.all == [Sale(dish: "soup", total: 4), Sale(dish: "cake", total: 3)])
        running.cancel()
        _ = await running.result
    }

    /// No process could deliver it, nor keep it as a letter.
    @Test func theOutboxRefusesABodyThatIsTooLarge() async throws {
        let database = try DatabaseQueue(path: file.path)
        let sale = Sale(dish: String(repeating: "x", count: 8 << 20), total: 1)
        let error = await #expect(throws: BridgeError.self) {
            try await database.write { try Switchboard()[.sold].post(sale, in: $0) }
        }
        #expect(error?.code == .payloadTooLarge && error?.detail?.contains("the limit is 8388608") == true)
    }

    @Test func theChannelOfATypeHasNoOutbox() async throws {
        let database = try DatabaseQueue()
        let error = await #expect(throws: BridgeError.self) {
            try await database.write { try Switchboard()[Sale.self].post(Sale(dish: "soup", total: 1), in: $0) }
        }
        #expect(error?.code == .invalidName)
    }

    // MARK: Closing

    @Test func aTransportThatWasClosedRefusesWhatComes() async throws {
        let transport = try await file.connected()
        let mailbox = try transport.mailbox()
        try await transport.close(timeout: .patience)
        func isRefused(_ body: () async throws -> Void) async {
            await #expect { try await body() } throws: { ($0 as? BridgeError)?.code == .closed }
        }
        await isRefused { try await transport.publish(message("late"), durable: true) }
        await isRefused { _ = try await transport.totals() }
        await isRefused { try await mailbox.perform(.task) { _, _ in } }
    }

    /// It leaves what it held to others, who find out by themselves that it has ended.
    @Test func closingWithNothingToStoreDoesNotWaitForALockedFile() async throws {
        let transport = try await file.connected()
        let held = Recorder<InboundMessage>()
        try await transport.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { held.record($0) }
        try await transport.publish(message("soup"), durable: true)
        await held.wait(count: 1)
        let foreign = try file.foreignDatabase()
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        try await transport.close(timeout: .patience)
        #expect(file.companions(after: "-member-").isEmpty)
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        let other = try await file.connected()
        let heard = try await hear("kitchen", on: other)
        #expect(await heard.wait(count: 1) == ["soup"])
        withExtendedLifetime(held) {}
        try await other.close(timeout: .patience)
    }

    // MARK: The folder

    /// Only what a connection can have written is removed from the folder.
    @Test func filesOfTheUserWithSimilarNamesAreLeftAlone() async throws {
        let names = [
            "list.csv", "photo.jpg", "1", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdef",
            "fedcba9876543210",
        ]
        for name in names {
            try Data("precious".utf8).write(to: URL(filePath: file.path + "-member-" + name))
        }
        // One that nobody may write, as ours.
        chmod(file.path + "-member-fedcba9876543210", 0o444)
        // What a process leaves behind that was killed at once.
        let left = file.path + "-member-00000000000000ff"
        try Data().write(to: URL(filePath: left))
        chmod(left, 0o444)
        let transport = try await file.connected()
        _ = try await hear("kitchen", on: transport)
        try await transport.close(timeout: .patience)
        let found = file.companions(after: "-member-").map { $0.dropFirst(file.path.count + "-member-".count) }
        #expect(Set(found.map(String.init)) == Set(names))
        for name in names { try FileManager.default.removeItem(atPath: file.path + "-member-" + name) }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// Without descriptors it cannot be told whether another has ended: that is found out later.
    @Test func memberThatCannotBeLookedAtNowIsLookedAtAgain() async {
        let path = file.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            var membership: SQLiteMembership? = try SQLiteMembership(beside: path)
            let member = SQLiteMember(membership!.token, beside: path)
            guard !member.hasEnded else { exit(1) }
            membership?.abandon()
            membership = nil
            var descriptors: [Int32] = []
            while true {
                let descriptor = open("/dev/null", O_RDONLY)
                guard descriptor >= 0, descriptors.count < 100_000 else { break }
                descriptors.append(descriptor)
            }
            guard errno == EMFILE, !member.hasEnded else { exit(2) }
            for descriptor in descriptors { close(descriptor) }
            guard member.hasEnded else { exit(3) }
            member.removeIfEnded()
            exit(FileManager.default.fileExists(atPath: member.path) ? 4 : 0)
        }
    }
    #endif

    // MARK: Headers

    /// A combining mark makes one character with what is before it, be it a line break or a colon.
    @Test func headersArriveAsTheyWereSet() async throws {
        let transport = try await file.connected()
        let heard = Recorder<TransportHeaders>()
        try await transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            heard.record(message.message.headers)
            message.settle?(.acknowledged)
        }
        let headers: TransportHeaders = [
            "x-first": "1", "x-accent": "\u{301}acute: value", "x-variation": "\u{FE0F}", "x-last": "",
        ]
        try await transport.publish(TransportMessage(subject: "shop.sold", headers: headers, body: []), durable: true)
        #expect(await heard.wait(count: 1) == [headers])
        try await transport.close(timeout: .patience)
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
        #expect(isFolder?.detail?.contains("\(folder.dropLast()): the file") == true)
        try Data(
            "this is not a database, and is longer than its header would be, which has 100 bytes in it ........".utf8
        )
        .write(to: URL(filePath: file.path))
        let foreign = await failure(of: file.path)
        #expect(foreign?.detail?.contains("\(file.path): this is not an SQLite database") == true)
    }

    /// With a log of its own beside each name, processes would lose what others have stored.
    @Test func aFileWithASecondNameIsRefusedAtOnceAndLater() async throws {
        let transport = try await file.connected()
        let other = TemporaryFile()
        #expect(link(file.path, other.path) == 0)
        let error = await #expect(throws: BridgeError.self) {
            try await transport.publish(message("lost"), durable: true)
        }
        for error in [error, await failure(of: file.path), await failure(of: other.path)] {
            #expect(error?.code == .notConnected && error?.detail?.contains("which are hard links") == true)
        }
        unlink(other.path)
        try await whenUnlocked { try await transport.publish(message("soup"), durable: true) }
        try await transport.close(timeout: .patience)
    }

    @Test func tablesOfANewerVersionAreRefusedWithBothVersions() async throws {
        try await file.connected().close(timeout: .patience)
        try await DatabaseQueue(path: file.path).write { try $0.execute(sql: "UPDATE channels_schema SET version = 7") }
        let newer = await failure(of: file.path)
        #expect(newer?.code == .settingsDiffer)
        #expect(newer?.detail?.contains("version 7") == true && newer?.detail?.contains("knows 1") == true)
    }

    @Test func aForeignLockIsWaitedForAndThenNamed() async throws {
        // What it does by itself meanwhile fails, too.
        let transport = SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: .milliseconds(100)))
        let ends = Tally()
        try await transport.connect { if case .reconnected = $0 { ends.add() } }
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
        await ends.wait(until: 1)
        try await transport.publish(message("later"), durable: true)
        try await transport.close(timeout: .patience)
    }

    /// SQLite itself does not wait for a writer when it sets up its write-ahead log.
    @Test func fileWrittenDuringItsSetUpIsWaitedFor() async throws {
        let writer = try file.foreignDatabase()
        try await writer.write { try $0.execute(sql: "CREATE TABLE dishes (name TEXT)") }
        try await writer.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let timeout = Duration.milliseconds(200)
        let transport = SQLiteTransport(SQLiteConfiguration(path: file.path, busyTimeout: timeout))
        let begin = ContinuousClock.now
        let error = await #expect(throws: BridgeError.self) { try await transport.connect { _ in } }
        #expect(error?.code == .notConnected && ContinuousClock.now - begin >= timeout)
        try await writer.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await transport.connect { _ in }
        try await transport.close(timeout: .patience)
    }

    /// On a disk that is nearly full, what is smaller could be stored. Here, a trigger refuses the second of five.
    @Test func whatCannotBeStoredIsNotOvertaken() async throws {
        let transport = try await file.connected()
        let database = try file.foreignDatabase()
        let refuse = """
            CREATE TRIGGER full BEFORE INSERT ON channels_messages WHEN NEW.identifier = '1'
            BEGIN SELECT RAISE(ABORT, 'full'); END
            """
        try await database.write { try $0.execute(sql: refuse) }
        func publish(_ ends: Recorder<BridgeError?>) async throws {
            for number in 0..<5 {
                try await transport.publishDurably(message("\(number)", id: "\(number)"), isRepeated: true) {
                    ends.record($0)
                }
            }
        }
        // All of them wait until the file is free. On a machine that stands still meanwhile, it is taken for locked.
        var ends: [BridgeError?]
        repeat {
            let recorder = Recorder<BridgeError?>()
            try await database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            try await publish(recorder)
            try await database.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            ends = await recorder.wait(count: 5)
        } while ends.contains { $0?.code == .notConnected }
        // One that is refused is not repeated; those behind it are.
        #expect(ends.map { $0?.code } == [nil, .refused, .notAcknowledged, .notAcknowledged, .notAcknowledged])
        try await database.write { try $0.execute(sql: "DROP TRIGGER full") }
        let recorder = Recorder<BridgeError?>()
        try await publish(recorder)
        await recorder.wait(count: 5)
        let stored = try await database.read {
            try String.fetchAll($0, sql: "SELECT identifier FROM channels_messages ORDER BY number")
        }
        #expect(stored == (0..<5).map(String.init))
        try await transport.close(timeout: .patience)
    }

    @Test func closingWaitsForALockedFileNoLongerThanItsTimeout() async throws {
        let transport = try await file.connected()
        let foreign = try file.foreignDatabase()
        var ends = Recorder<Bool>()
        while true {
            try await foreign.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            ends = Recorder()
            let recorder = ends
            try await transport.publishDurably(message("late", id: "1"), isRepeated: false) {
                recorder.record($0 == nil)
            }
            // It comes behind the message.
            try await transport.subscribe(TransportSubscription(to: "shop.>")) { _ in }
            if ends.count == 0 { break }
            // The machine stood still, and the file was taken for locked.
            try await foreign.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        }
        let error = await #expect(throws: BridgeError.self) { try await transport.close(timeout: .milliseconds(20)) }
        #expect(error?.code == .closingTimedOut && ends.count == 0)
        // It goes on waiting.
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        #expect(await ends.wait(count: 1) == [true])
    }

    @Test(arguments: [false, true]) func aFileThatIsGoneIsReportedAndTakesNothing(isReplaced: Bool) async throws {
        let failures = Recorder<BridgeError>()
        let configuration = SQLiteConfiguration(path: file.path)
        let transport = SQLiteTransport(configuration)
        try await transport.connect { event in
            if case .failed(let error) = event { failures.record(error) }
        }
        try FileManager.default.removeItem(atPath: file.path)
        if isReplaced { try Data().write(to: URL(filePath: file.path)) }
        let error = await #expect(throws: BridgeError.self) {
            try await transport.publish(message("lost"), durable: true)
        }
        #expect(error?.code == .notConnected && error?.detail?.contains("was removed or replaced") == true)
        // Also where nothing is published.
        let reported = await failures.wait(count: 1)
        #expect(reported.first?.detail?.contains("was removed or replaced: stop all processes that use it") == true)
        try? await transport.close(timeout: .patience)
    }

    @Test func bodiesHaveALimit() async throws {
        var configuration = SQLiteConfiguration(path: file.path)
        configuration.bodyLimit = 10
        let transport = try await file.connected(configuration)
        let error = await #expect(throws: BridgeError.self) {
            try await transport.publish(message("more than ten bytes"), durable: false)
        }
        #expect(error?.code == .payloadTooLarge)
        try await transport.close(timeout: .patience)
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
                    .incoming(.sold, durable: true).replaying(from: .beginning),
                    .both(state: "shop.open", initial: false),
                ]
            ),
        ]
        let running = bridges.map { bridge in Task { try await bridge.run() } }
        // Before that, the bridge that stores first has the first value, also one that nobody has set.
        for bridge in bridges { try await bridge.waitUntilReady() }
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
