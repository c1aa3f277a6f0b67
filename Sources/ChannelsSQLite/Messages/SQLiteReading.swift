#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// What the subscriptions of a connection have read. It is a value, so that changes made in a transaction
/// only count once it is committed.
struct SQLiteReading {
    /// A subscription of messages that are not durable.
    struct Plain {
        let pattern: ChannelPattern
        /// It receives messages with a higher number.
        var after: Int64
        let queue: HandlerQueue<InboundMessage>
    }

    /// A subscription of last values.
    struct Watched {
        let pattern: ChannelPattern
        let queue: HandlerQueue<StoredValue>
        /// It receives values with a higher revision.
        var seen: Int64
    }

    /// What was found for the subscriptions, by their places.
    struct Found {
        var messages: [(place: Int, message: InboundMessage)] = []
        var values: [(place: Int, value: StoredValue)] = []
        var members: Set<String>?
    }

    /// How many messages are read at once, and how many bytes of messages that somebody receives.
    private static let (mostAtOnce, mostBytes) = (500, 4 << 20)

    var plain: [Plain] = []
    var cursors: [SQLiteCursor] = []
    var watched: [Watched] = []
    /// The number of the last message that was read.
    var lastNumber: Int64 = 0
    /// Whether there is more to read.
    private(set) var hasMore = false

    var isEmpty: Bool { plain.isEmpty && cursors.isEmpty && watched.isEmpty }
    /// Whether a durable name can claim something.
    var wantsToClaim: Bool { cursors.contains { $0.mayHaveMore && $0.hasRoom } }

    mutating func add(_ new: Plain) {
        if plain.isEmpty && cursors.isEmpty { lastNumber = new.after }
        plain.append(new)
        // The subscription may begin with stored messages.
        hasMore = true
    }

    /// - Parameter last: The number of the newest message when the name was joined.
    mutating func add(_ cursor: SQLiteCursor, last: Int64) {
        if plain.isEmpty && cursors.isEmpty { lastNumber = last }
        cursors.append(cursor)
    }

    /// Begins again in another session. Subscriptions that are not durable continue after the newest message.
    mutating func begin(_ new: [SQLiteCursor], last: Int64) {
        (cursors, lastNumber, hasMore) = (new, last, false)
        for place in plain.indices { plain[place].after = last }
        for place in watched.indices { watched[place].seen = 0 }
    }

    /// Reads what is new, for all subscriptions.
    ///
    /// - Parameter ofOthers: Whether other connections have changed something, or this one has changed more
    ///   than messages.
    mutating func read(_ db: Database, ofOthers: Bool) throws -> Found {
        var found = Found()
        hasMore = false
        if !plain.isEmpty || !cursors.isEmpty {
            try readMessages(db, &found)
            // From one name to the next in the index, because a name may have very many.
            let free = try Int64.fetchSet(
                db.cachedStatement(
                    sql: """
                        WITH RECURSIVE free (id) AS (
                            SELECT MIN(consumer) FROM channels_unsettled WHERE holder IS NULL
                            UNION ALL
                            SELECT (SELECT MIN(consumer) FROM channels_unsettled WHERE holder IS NULL AND consumer > id)
                            FROM free WHERE id IS NOT NULL
                        )
                        SELECT id FROM free WHERE id IS NOT NULL
                        """
                )
            )
            for place in cursors.indices where free.contains(cursors[place].id) { cursors[place].mayHaveMore = true }
        }
        guard ofOthers else { return found }
        try readValues(db, &found)
        if !cursors.isEmpty {
            found.members = try String.fetchSet(db.cachedStatement(sql: "SELECT token FROM channels_members"))
        }
        return found
    }

    /// Reads messages for subscriptions that are not durable, and finds out whether there are any for durable
    /// ones.
    private mutating func readMessages(_ db: Database, _ found: inout Found) throws {
        let newest = try SQLiteSchema.lastNumber(db)
        guard newest > lastNumber else { return }
        guard !plain.isEmpty || cursors.contains(where: { !$0.mayHaveMore }) else {
            lastNumber = newest
            return
        }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, subject, headers, body, time, durable FROM channels_messages WHERE number > ?
                    ORDER BY number LIMIT \(Self.mostAtOnce)
                    """
            ),
            arguments: [lastNumber]
        )
        var (count, bytes) = (0, 0)
        while let row = try rows.next() {
            guard bytes < Self.mostBytes else {
                hasMore = true
                return
            }
            count += 1
            let (number, subject) = (row["number"] as Int64, row["subject"] as String)
            var inbound: InboundMessage?
            for place in plain.indices where number > plain[place].after && plain[place].pattern.matches(subject) {
                if inbound == nil {
                    inbound = InboundMessage(TransportMessage(row))
                    inbound!.secondsSince1970 = row["time"]  // it is there
                    bytes += inbound!.message.byteCount
                }
                found.messages.append((place, inbound!))
            }
            for place in cursors.indices { cursors[place].pass(number, isDurable: row["durable"], subject) }
            lastNumber = number
        }
        hasMore = count == Self.mostAtOnce
        if !hasMore { lastNumber = newest }
    }

    private mutating func readValues(_ db: Database, _ found: inout Found) throws {
        guard let seen = watched.map(\.seen).min() else { return }
        let patterns = watched.map(\.pattern)
        try SQLiteValues.each(after: seen, db) { subject in
            patterns.contains { $0.matches(subject) }
        } _: { value in
            for place in watched.indices
            where Int64(value.revision) > watched[place].seen && patterns[place].matches(value.message.subject) {
                found.values.append((place, value))
            }
        }
        let last = try SQLiteValues.lastRevision(db)
        for place in watched.indices { watched[place].seen = max(watched[place].seen, last) }
    }
}
#endif
