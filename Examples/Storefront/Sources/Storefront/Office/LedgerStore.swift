import Foundation
import GRDB

/// The ledger on disk: one row for each sale, and whether its receipt has been mailed.
///
/// A row is written in one transaction, so that a sale and the mail that is due for it are there together or
/// not at all, however the process ends. The id is unique: that is what makes "at least once" exactly once.
final class LedgerStore: Sendable {
    /// What has become of the receipt.
    enum Mail: Int { case due, sent, undeliverable }

    static let fileName = "ledger.sqlite"

    private let queue: DatabaseQueue

    init(directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // For one process alone: a second one is refused, instead of showing half of the sales. What is
            // committed outlives the process; to outlive a power cut, too, set synchronous to FULL, which
            // waits for the disk at each sale.
            try db.execute(
                sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"
            )
        }
        queue = try DatabaseQueue(path: directory + "/" + Self.fileName, configuration: configuration)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS sales (
                        number INTEGER PRIMARY KEY,
                        id TEXT NOT NULL UNIQUE,
                        name TEXT NOT NULL,
                        menu TEXT NOT NULL,
                        guests INTEGER NOT NULL,
                        bill INTEGER NOT NULL,
                        tip INTEGER NOT NULL,
                        mail INTEGER NOT NULL DEFAULT 0
                    ) STRICT;
                    CREATE INDEX IF NOT EXISTS due ON sales (number) WHERE mail = 0;
                    """
            )
        }
    }

    /// - Returns: Nil if a sale with this id is there already.
    func book(_ sale: Sale) async throws -> Booking? {
        try await queue.write { db in
            let insert = try db.cachedStatement(
                sql: """
                    INSERT INTO sales (id, name, menu, guests, bill, tip) VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO NOTHING
                    """
            )
            try insert.execute(
                arguments: [sale.id, sale.name, sale.menu.rawValue, sale.guests, sale.bill, sale.tip]
            )
            return db.changesCount == 1 ? Booking(number: Int(db.lastInsertedRowID), sale: sale) : nil
        }
    }

    func booking(_ id: String) async throws -> Booking? {
        try await queue.read { db in
            let select = try db.cachedStatement(sql: "SELECT * FROM sales WHERE id = ?")
            return try Row.fetchOne(select, arguments: [id]).map(Self.booking)
        }
    }

    func count(ofIDsWith prefix: String) throws -> Int {
        try queue.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM sales WHERE id LIKE ? || '%'", arguments: [prefix]) ?? 0
        }
    }

    /// The first sales whose receipt is due: what is left to do, also after a crash.
    func due(atMost count: Int) async throws -> [Booking] {
        try await queue.read { db in
            let select = try db.cachedStatement(sql: "SELECT * FROM sales WHERE mail = 0 ORDER BY number LIMIT ?")
            return try Row.fetchAll(select, arguments: [count]).map(Self.booking)
        }
    }

    func settle(_ numbers: [Int], _ mail: Mail) async throws {
        try await queue.write { db in
            let update = try db.cachedStatement(sql: "UPDATE sales SET mail = ? WHERE number = ?")
            for number in numbers { try update.execute(arguments: [mail.rawValue, number]) }
        }
    }

    /// The office as it stands, from all sales.
    func office() throws -> Office {
        try queue.read { db in
            var office = Office()
            for row in try Row.fetchAll(
                db,
                sql: """
                    SELECT menu, count(*) AS sales, sum(guests) AS guests, sum(bill) AS bills, sum(tip) AS tips,
                        sum(mail = 1) AS mailed
                    FROM sales GROUP BY menu
                    """
            ) {
                office.sales += row["sales"]
                office.guests += row["guests"]
                office.takings += row["bills"]
                office.tips += row["tips"]
                office.mailed += row["mailed"]
                if let menu = Sale.Menu(rawValue: row["menu"]) { office.stock.serve(menu, row["guests"]) }
            }
            office.recent = try Row.fetchAll(
                db,
                sql: "SELECT * FROM sales ORDER BY number DESC LIMIT \(Office.recentCount)"
            ).map(Self.booking)
            return office
        }
    }

    private static func booking(_ row: Row) -> Booking {
        Booking(
            number: row["number"],
            sale: Sale(
                id: row["id"],
                name: row["name"],
                menu: .init(rawValue: row["menu"]) ?? .dinner,
                guests: row["guests"],
                bill: row["bill"],
                tip: row["tip"]
            )
        )
    }
}
