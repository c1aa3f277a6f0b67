#if SQLite
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// The tables, which may be in the user's own database.
enum SQLiteSchema {
    /// Raised with each change of the tables, so that older files can be changed as well.
    static let version = 1

    /// Whether the tables are there.
    static func isThere(_ db: Database) throws -> Bool {
        try String.fetchOne(db, sql: "SELECT name FROM sqlite_master WHERE name = 'channels_schema'") != nil
    }

    /// Creates the tables, if they are not there.
    ///
    /// - Throws: ``BridgeError/Code/settingsDiffer`` for tables of a later version;
    ///   ``BridgeError/Code/notConnected`` if there are no tables and `creates` is false.
    static func prepare(_ db: Database, creates: Bool = true) throws {
        guard try isThere(db) else {
            guard creates else {
                throw BridgeError(.notConnected, detail: "no channels have gone through this file")
            }
            return try create(db)
        }
        let found = try Int.fetchOne(db, sql: "SELECT version FROM channels_schema") ?? 0
        guard found <= version else {
            throw BridgeError(
                .settingsDiffer,
                detail:
                    "the file has version \(found) of the tables, and this program knows \(version): use a newer one"
            )
        }
    }

    private static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                -- How often a transport has changed the file, and a random number of the last time; how many durable
                -- messages there are, and their bytes.
                CREATE TABLE channels_schema (
                    version INTEGER NOT NULL,
                    changes INTEGER NOT NULL,
                    mark INTEGER NOT NULL,
                    messages INTEGER NOT NULL,
                    bytes INTEGER NOT NULL
                );
                INSERT INTO channels_schema VALUES (\(version), 0, 0, 0, 0);
                -- The numbers are given in the order of the commits, and never again.
                CREATE TABLE channels_messages (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    subject TEXT NOT NULL,
                    headers TEXT NOT NULL,
                    body BLOB NOT NULL,
                    identifier TEXT,
                    durable INTEGER NOT NULL,
                    time REAL NOT NULL
                );
                CREATE UNIQUE INDEX channels_identifiers ON channels_messages (identifier) WHERE identifier IS NOT NULL;
                CREATE TRIGGER channels_message_stored AFTER INSERT ON channels_messages WHEN NEW.durable BEGIN
                    UPDATE channels_schema SET messages = messages + 1,
                        bytes = bytes + LENGTH(NEW.headers) + LENGTH(NEW.body);
                END;
                CREATE TRIGGER channels_message_removed AFTER DELETE ON channels_messages WHEN OLD.durable BEGIN
                    UPDATE channels_schema SET messages = messages - 1,
                        bytes = bytes - LENGTH(OLD.headers) - LENGTH(OLD.body);
                END;
                -- Those that are removed soon.
                CREATE INDEX channels_plain ON channels_messages (time) WHERE NOT durable;
                -- What a durable name has taken: everything up to the position. Its number is never given again.
                CREATE TABLE channels_consumers (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL,
                    pattern TEXT NOT NULL,
                    position INTEGER NOT NULL,
                    UNIQUE (name, pattern)
                );
                -- Of what was taken, that which is not settled, and the member that has it; NULL: anybody may take it.
                CREATE TABLE channels_unsettled (
                    consumer INTEGER NOT NULL,
                    number INTEGER NOT NULL,
                    deliveries INTEGER NOT NULL,
                    holder TEXT,
                    PRIMARY KEY (consumer, number)
                ) WITHOUT ROWID;
                CREATE INDEX channels_free ON channels_unsettled (consumer, number) WHERE holder IS NULL;
                CREATE TRIGGER channels_name_removed AFTER DELETE ON channels_consumers BEGIN
                    DELETE FROM channels_unsettled WHERE consumer = OLD.id;
                    DELETE FROM channels_subscribers WHERE consumer = OLD.id;
                END;
                -- The connections that subscribe, and how often each has changed the file. Each has a locked file beside
                -- the database as long as it lives.
                CREATE TABLE channels_members (token TEXT PRIMARY KEY, changes INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
                CREATE TRIGGER channels_member_removed AFTER DELETE ON channels_members BEGIN
                    UPDATE channels_unsettled SET holder = NULL WHERE holder = OLD.token;
                    DELETE FROM channels_subscribers WHERE member = OLD.token;
                END;
                CREATE TABLE channels_subscribers (
                    consumer INTEGER NOT NULL,
                    member TEXT NOT NULL,
                    PRIMARY KEY (consumer, member)
                ) WITHOUT ROWID;
                -- Each value stored has a revision that is never given again: what is new is found by it.
                CREATE TABLE channels_values (
                    revision INTEGER PRIMARY KEY AUTOINCREMENT,
                    subject TEXT NOT NULL UNIQUE,
                    headers TEXT NOT NULL,
                    body BLOB NOT NULL
                );
                """
        )
    }

    /// Inserts a message. Returns false if there is one with its identifier.
    static func insert(
        _ message: TransportMessage,
        durable: Bool,
        at time: Double = Timestamp.now.secondsSince1970,
        _ db: Database
    ) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO channels_messages (subject, headers, body, identifier, durable, time)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        )
        let identifier = durable ? message.headers[TransportHeaders.id] : nil
        try statement.execute(arguments: [
            message.subject, message.headers.text, Data(message.body), identifier, durable, time,
        ])
        return db.changesCount > 0
    }

    /// The number after which a durable name starts. By default, that is before the oldest stored message. A start
    /// beyond the newest message is the next message.
    static func position(of start: ReplayStart?, _ db: Database) throws -> Int64 {
        switch start?.position {
        case .new: return try lastNumber(db)
        case nil, .beginning: return 0
        case .sequence(let number): return try min(Int64(clamping: number) - 1, lastNumber(db))
        case .time(let seconds):
            let first = try Int64.fetchOne(
                db,
                sql: "SELECT MIN(number) FROM channels_messages WHERE durable AND time >= ?",
                arguments: [seconds]
            )
            return try first.map { $0 - 1 } ?? lastNumber(db)
        }
    }

    /// The number and total size of the durable messages.
    static func totals(_ db: Database) throws -> (messages: Int, bytes: Int) {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT messages, bytes FROM channels_schema"))
        return (row?[0] ?? 0, row?[1] ?? 0)
    }

    /// The number of the newest message, even if that has been removed.
    static func lastNumber(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'channels_messages'")
        ) ?? 0
    }
}

/// What a session remembers of the file: how often it was changed, its newest message, and how often the
/// session itself has changed it. If the file disagrees, an older copy was put in its place.
///
/// Before the session looks again, other sessions may change the copy until the total count matches. The
/// session's own count cannot match.
struct SQLiteMark {
    private let changes: Int64
    private let mark: Int64
    /// The number of the newest message; zero if there is none.
    private let number: Int64
    private let time: Double
    /// How often the session has changed the file; nil if it is not a member.
    private let ownChanges: Int64?

    /// - Parameter token: The token of the session; empty if it is not a member.
    init(_ token: String, _ db: Database) throws {
        (changes, mark) = try Self.changes(db)
        let newest = try db.cachedStatement(
            sql: "SELECT number, time FROM channels_messages ORDER BY number DESC LIMIT 1"
        )
        let row = try Row.fetchOne(newest)
        (number, time) = (row?[0] ?? 0, row?[1] ?? 0)
        ownChanges = try Self.changes(of: token, db)
    }

    /// Whether the file is the one that the session remembers. It is not if it has been changed less often,
    /// has another message with the remembered number, or does not know the member. Numbers are never used
    /// again, so a message that is missing was removed.
    func isKnown(_ token: String, to db: Database) throws -> Bool {
        do { return try matches(token, db) } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // The copy may be older than the tables.
            if try SQLiteSchema.isThere(db) { throw error }
            return false
        }
    }

    private func matches(_ token: String, _ db: Database) throws -> Bool {
        let (changes, mark) = try Self.changes(db)
        guard changes >= self.changes, changes > self.changes || mark == self.mark else { return false }
        guard try ownChanges == nil || Self.changes(of: token, db) == ownChanges else { return false }
        let found = try db.cachedStatement(sql: "SELECT time FROM channels_messages WHERE number = ?")
        if let time = try Double.fetchOne(found, arguments: [number]) { return time == self.time }
        return try SQLiteSchema.lastNumber(db) >= number
    }

    private static func changes(_ db: Database) throws -> (Int64, Int64) {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT changes, mark FROM channels_schema"))
        return (row?[0] ?? 0, row?[1] ?? 0)
    }

    private static func changes(of token: String, _ db: Database) throws -> Int64? {
        guard !token.isEmpty else { return nil }
        let found = try db.cachedStatement(sql: "SELECT changes FROM channels_members WHERE token = ?")
        return try Int64.fetchOne(found, arguments: [token])
    }

    /// Records that the transaction has changed something.
    static func change(_ token: String, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE channels_schema SET changes = changes + 1, mark = random()").execute()
        guard !token.isEmpty else { return }
        try db.cachedStatement(sql: "UPDATE channels_members SET changes = changes + 1 WHERE token = ?")
            .execute(arguments: [token])
    }
}

extension TransportHeaders {
    /// The headers, one per line. Neither names nor values have control characters, and names have no colon.
    var text: String { map { "\($0.name):\($0.value)\n" }.joined() }

    /// Reads headers from text, by bytes, because a line break or colon and a combining mark after it are one
    /// character.
    init(text: String) {
        self.init()
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            append(
                valid: String(decoding: line[line.index(after: colon)...], as: UTF8.self),
                for: String(decoding: line[..<colon], as: UTF8.self)
            )
        }
    }
}

extension TransportMessage {
    /// Creates a message from a row with its subject, headers and body.
    init(_ row: Row) {
        let body: Data = row["body"]
        self.init(valid: row["subject"], headers: TransportHeaders(text: row["headers"]), body: Array(body))
    }
}
#endif
