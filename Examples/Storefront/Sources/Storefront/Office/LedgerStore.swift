import Channels
import ChannelsBridge
import ChannelsSQLite
import Foundation
import GRDB

/// The ledger on disk: a row for each sale, which also says whether its receipt has been mailed.
///
/// A row is written in the same transaction as the message that its receipt is due, so both are there or
/// neither is, however the process ends. The id is unique, which turns "at least once" into exactly once.
final class LedgerStore: Sendable {
    /// The state of a receipt.
    enum Mail: Int { case due, sent, undeliverable }

    struct InUse: Error, CustomStringConvertible {
        let directory: String
        var description: String { "the ledger in \(directory) is locked: another office has it open" }
    }

    static func path(_ directory: String) -> String { directory + "/ledger.sqlite" }

    let directory: String
    private let queue: DatabaseQueue
    /// The descriptor of a file that only one office can lock.
    private let lock: Int32

    init(directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        // A second office is refused, because each would only show some of the sales. If the process is
        // killed, the system releases the lock.
        lock = open(directory + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw InUse(directory: directory)
        }
        var configuration = Configuration()
        // The till and the mail also write to the file, so this tries to lock it often.
        configuration.busyMode = .callback { looks in
            usleep(2_000)
            return looks < 5_000
        }
        configuration.prepareDatabase { db in
            // A commit survives the end of the process. To survive a power failure as well, set synchronous
            // to FULL, which waits for the disk at each sale.
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
        queue = try DatabaseQueue(path: Self.path(directory), configuration: configuration)
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
                    """
            )
        }
    }

    deinit { close(lock) }

    /// Books a sale, and posts in the same transaction that its receipt is due.
    ///
    /// - Returns: The booking; nil if there already is a sale with this id.
    func book(_ sale: Sale, on board: Switchboard) async throws -> Booking? {
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
            guard db.changesCount == 1 else { return nil }
            let booking = Booking(number: Int(db.lastInsertedRowID), sale: sale)
            try board[.receipt].post(booking, in: db)
            return booking
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

    /// - Returns: Whether this is new. After a crash, a receipt may be mailed twice.
    func settle(_ number: Int, _ mail: Mail) async throws -> Bool {
        try await queue.write { db in
            let update = try db.cachedStatement(sql: "UPDATE sales SET mail = ? WHERE number = ? AND mail = 0")
            try update.execute(arguments: [mail.rawValue, number])
            return db.changesCount == 1
        }
    }

    /// Returns the current state of the office, computed from all sales.
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
