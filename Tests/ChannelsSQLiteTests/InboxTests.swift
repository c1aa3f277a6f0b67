#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import Dispatch
import GRDB
import TestSupport
import Testing

/// Messages that are settled with what their listener has done.
@Suite(.hangLimit)
struct InboxTests {
    private struct Refusal: Error {}

    private let file = TemporaryFile()

    @Test func aMessageAndItsEffectCommitTogether() async throws {
        let database = try await database()
        try await running { board, _ in
            let handled = Recorder<RemoteDelivery>()
            let token = board[.sold].posts.listen { post in
                try await database.write { db in
                    try Self.note(post.message, db)
                    try post.settle(in: db)
                }
                if let delivery = post.delivery { handled.record(delivery) }
            }
            try await send(20, database)
            let deliveries = await handled.wait(count: 20)
            #expect(Set(deliveries.map(\.id)).count == 20)
            #expect(deliveries.allSatisfy { $0.attempt == 1 && $0.secondsSince1970 != nil })
            withExtendedLifetime(token) {}
        }
        #expect(try await effects(database) == (0..<20).map { "dish \($0)" })
        #expect(try await unsettled(database) == 0)
    }

    /// The transaction has decided, whatever the listener does then.
    @Test func aListenerThatThrowsAfterItsCommitIsNotCalledAgain() async throws {
        let database = try await database()
        try await running { board, bridge in
            let token = board[.sold].posts.listen { post in
                try await database.write { db in
                    try Self.note(post.message, db)
                    try post.settle(in: db)
                }
                throw Refusal()
            }
            try await send(3, database)
            while bridge.statistics.retried < 3 { await Task.yield() }
            withExtendedLifetime(token) {}
        }
        #expect(try await effects(database) == ["dish 0", "dish 1", "dish 2"])
        #expect(try await unsettled(database) == 0)
    }

    @Test(arguments: [false, true]) func aTransactionThatIsRolledBackGetsItsMessageAgain(throwing: Bool) async throws {
        let database = try await database()
        try await running { board, _ in
            let attempts = Recorder<Int>()
            let token = board[.sold].posts.listen { post in
                let attempt = post.delivery?.attempt ?? 0
                do {
                    try await database.write { db in
                        try Self.note(post.message, db)
                        try post.settle(in: db)
                        if attempt == 1 { throw Refusal() }
                    }
                } catch { if throwing { throw error } }
                attempts.record(attempt)
            }
            try await send(1, database)
            let all = await attempts.wait(count: throwing ? 1 : 2)
            #expect(all == (throwing ? [2] : [1, 2]))
            withExtendedLifetime(token) {}
        }
        #expect(try await effects(database) == ["dish 0"])
        #expect(try await unsettled(database) == 0)
    }

    @Test func whatCannotBeSettledThereIsRefusedAndNamed() async throws {
        let (database, elsewhere) = (try await database(), try DatabaseQueue())
        try await running { board, _ in
            let errors = Recorder<BridgeError>()
            let token = board[.sold].posts.listen { post in
                for other in [elsewhere as any DatabaseWriter, database] {
                    do {
                        try await other.write { db in
                            try post.settle(in: db)
                            // A second time.
                            try post.settle(in: db)
                        }
                    } catch let error as BridgeError { errors.record(error) }
                }
            }
            try await send(1, database)
            let all = await errors.wait(count: 2)
            #expect(all.prefix(2).map(\.code) == [.refused, .refused] && all[0].subject == "shop.sold")
            withExtendedLifetime(token) {}
        }
        let posted = Posted(Sale(dish: "soup", total: 1), channelName: "shop.sold")
        let error = await #expect(throws: BridgeError.self) { try await database.write { try posted.settle(in: $0) } }
        #expect(error?.code == .unsupported)
    }

    /// A copy has the same rows, in another file.
    @Test func aCopyOfTheFileIsRefusedAtEveryAttempt() async throws {
        let database = try await database()
        let copy = TemporaryFile()
        try await running { board, _ in
            let errors = Recorder<BridgeError>()
            let token = board[.sold].posts.listen { post in
                let other = try DatabaseQueue(path: copy.path)
                try database.backup(to: other)
                do { try await other.write { try post.settle(in: $0) } } catch let error as BridgeError {
                    errors.record(error)
                    throw error
                }
            }
            try await send(1, database)
            let all = await errors.wait(count: 3)
            #expect(all.allSatisfy { $0.code == .refused })
            withExtendedLifetime(token) {}
        }
    }

    /// The letter and the effect are of one message: whichever commits first decides.
    @Test func aMessageHasItsEffectOrALetterAndNeverBoth() async throws {
        let database = try await database()
        let board = Switchboard()
        let count = 40
        var configuration = BridgeConfiguration(
            failureLimit: 1,
            backoff: Backoff(first: .milliseconds(1), limit: .milliseconds(1))
        )
        configuration.listenerTimeout = .milliseconds(20)
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: SQLiteTransport(path: file.path),
            routes: [.incoming(.sold, durable: true)],
            configuration: configuration
        )
        let running = Task { try await bridge.run() }
        let ends = Tally()
        let token = board[.sold].posts.listen { post in
            // Its commit comes about when the time is up, or a little later.
            await withCheckedContinuation { continuation in
                let time = DispatchTime.now() + .microseconds(19_500 + post.message.total * 50)
                DispatchQueue.global().asyncAfter(deadline: time) { continuation.resume() }
            }
            defer { ends.add() }
            // Cancelled or not: the write is not.
            let write = Task.detached {
                try await database.write { db in
                    try Self.note(post.message, db)
                    try post.settle(in: db)
                }
            }
            try await write.value
        }
        try await send(count, database)
        await ends.wait(until: count)
        try await wait(for: "all to be settled") { try await unsettled(database) == 0 }
        running.cancel()
        _ = await running.result
        let letters = try await database.read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_messages WHERE subject = 'dead.shop.sold'") ?? 0
        }
        #expect(try await effects(database).count + letters == count)
        withExtendedLifetime(token) {}
    }

    private func wait(for what: String, until isDone: () async throws -> Bool) async throws {
        while try await !isDone() { await Task.yield() }
    }

    @Test func whatHasBeenHandledIsKnown() async throws {
        let database = try await database()
        @Sendable func post(_ id: String, from source: String = "till") -> Posted<Int> {
            Posted(1, origin: .remote(source), delivery: RemoteDelivery(id: id, attempt: 2))
        }
        @Sendable func mark(_ post: Posted<Int>, by handler: String = "booking") async throws -> Bool {
            try await database.write { try post.markHandled(by: handler, keeping: 4, in: $0) }
        }
        #expect(try await mark(post("a")))
        #expect(try await !mark(post("a")))
        #expect(try await mark(post("a", from: "shop")))
        // Another handler has an effect of its own.
        #expect(try await mark(post("a"), by: "cooking"))
        // Rolled back, and so not handled.
        await #expect(throws: Refusal.self) {
            try await database.write { db in
                _ = try post("b").markHandled(by: "booking", in: db)
                throw Refusal()
            }
        }
        for id in ["b", "c", "d"] { #expect(try await mark(post(id))) }
        // As many others have come since.
        #expect(try await mark(post("a")))
        let error = await #expect(throws: BridgeError.self) { try await mark(post("")) }
        #expect(error?.code == .unsupported)
    }

    // MARK: Support

    private func database() async throws -> DatabasePool {
        var settings = Configuration()
        settings.busyMode = .timeout(60)
        let database = try DatabasePool(path: file.path, configuration: settings)
        try await database.write { try $0.execute(sql: "CREATE TABLE effects (dish TEXT)") }
        return database
    }

    private func running(_ body: (Switchboard, Bridge) async throws -> Void) async throws {
        let board = Switchboard()
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: SQLiteTransport(path: file.path),
            routes: [.incoming(.sold, durable: true)],
            configuration: BridgeConfiguration(backoff: Backoff(first: .milliseconds(1), limit: .milliseconds(1)))
        )
        let running = Task { try await bridge.run() }
        try await body(board, bridge)
        running.cancel()
        _ = await running.result
    }

    private func send(_ count: Int, _ database: DatabasePool) async throws {
        try await database.write { db in
            for number in 0..<count {
                try Switchboard()[.sold].post(Sale(dish: "dish \(number)", total: number), in: db)
            }
        }
    }

    private static func note(_ sale: Sale, _ db: Database) throws {
        try db.execute(sql: "INSERT INTO effects VALUES (?)", arguments: [sale.dish])
    }

    private func effects(_ database: DatabasePool) async throws -> [String] {
        try await database.read { try String.fetchAll($0, sql: "SELECT dish FROM effects ORDER BY rowid") }
    }

    private func unsettled(_ database: DatabasePool) async throws -> Int? {
        try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_unsettled") }
    }
}
#endif
