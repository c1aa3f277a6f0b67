import Channels
import ChannelsBridge
import ChannelsSQLite
import Foundation
import GRDB

/// Orders and bookings of a database, whose messages are stored and settled in its transactions.
extension Filed {
    static let ordered: ChannelName<Int> = "proof.ordered"

    private static func database(_ file: String) async throws -> DatabasePool {
        var settings = Configuration()
        settings.busyMode = .timeout(60)
        let database = try DatabasePool(path: file, configuration: settings)
        try await database.write {
            try $0.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY);
                    CREATE TABLE IF NOT EXISTS bookings (number INTEGER);
                    """
            )
        }
        return database
    }

    static func order(_ file: String, _ numbers: Range<Int>) async throws {
        let database = try await database(file)
        let board = Switchboard()
        for number in numbers {
            try await database.write { db in
                try db.execute(sql: "INSERT OR IGNORE INTO orders VALUES (?)", arguments: [number])
                // False after a restart for one that was committed and not said.
                let isNew = db.changesCount > 0
                say("begun \(number)")
                Thread.sleep(forTimeInterval: 0.002)
                if isNew { try board[ordered].post(number, in: db) }
                Thread.sleep(forTimeInterval: 0.002)
            }
            say("committed \(number)")
        }
    }

    static func compare(_ file: String) async throws {
        let (orders, messages) = try await database(file).read { db in
            (
                try Int.fetchAll(db, sql: "SELECT number FROM orders"),
                try String.fetchAll(
                    db,
                    sql: "SELECT CAST(body AS TEXT) FROM channels_messages WHERE subject = 'proof.ordered'"
                )
                .map { Int($0)! }
            )
        }
        let (first, second) = (Set(orders), Set(messages))
        say(
            "\(orders.count) orders, \(first.subtracting(second).count) without a message, "
                + "\(second.subtracting(first).count) messages without an order, \(messages.count - second.count) messages twice"
        )
        for number in orders.sorted() { say("order \(number)") }
    }

    static func inbox(_ file: String) async throws {
        let database = try await database(file)
        let board = Switchboard(onFault: { say("fault \($0)") })
        let token = board[ordered].posts.listen { post in
            try await database.write { db in
                try db.execute(sql: "INSERT INTO bookings VALUES (?)", arguments: [post.message])
                say("begun \(post.message)")
                Thread.sleep(forTimeInterval: 0.001)
                try post.settle(in: db)
                Thread.sleep(forTimeInterval: 0.001)
            }
            say("committed \(post.message)")
        }
        let transport = SQLiteTransport(path: file)
        let bridge = Bridge(
            "books",
            switchboard: board,
            transport: transport,
            routes: [.incoming(ordered, durable: true)]
        )
        try await bridge.run()
        withExtendedLifetime(token) {}
    }

    static func booked(_ file: String) async throws {
        let (messages, bookings) = try await database(file).read { db in
            (
                try Set(
                    String.fetchAll(
                        db,
                        sql: "SELECT CAST(body AS TEXT) FROM channels_messages WHERE subject = 'proof.ordered'"
                    )
                ),
                try String.fetchAll(db, sql: "SELECT CAST(number AS TEXT) FROM bookings")
            )
        }
        let unique = Set(bookings)
        say(
            "\(unique.count) booked, \(bookings.count - unique.count) more than once, "
                + "\(messages.subtracting(unique).count) not booked, \(unique.subtracting(messages).count) invented"
        )
    }
}
