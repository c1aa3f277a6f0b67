#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

/// Takes messages for the durable names of a connection in one transaction: for each name first those that no
/// member holds any more, then new ones, each in the order stored.
struct SQLiteTaking: Sendable {
    struct Request: Sendable {
        /// Of the name, in the file.
        let id: Int64
        let name: ExactText
        let pattern: ChannelPattern
        /// How many messages, and how many bytes; but one message at least.
        let most: Int
        let bytes: Int
        /// Up to here, the pattern matches nothing behind the position in the file.
        let passed: Int64
    }

    struct Taken: Sendable {
        let number: Int64
        let delivery: Int
        let message: TransportMessage
        let time: Double
    }

    /// The messages of one name.
    struct Part: Sendable {
        var taken: [Taken] = []
        var passed: Int64
        /// Whether there may be more for which there was no room.
        var isFull = false
        /// Whether the file does not know the name.
        var isMissing = false
        fileprivate var bytes = 0

        /// False where there is no room for the message.
        fileprivate mutating func add(_ row: Row, _ delivery: Int, _ request: Request) throws -> Bool {
            let message = TransportMessage(row)
            isFull = taken.count == request.most || !taken.isEmpty && bytes + message.byteCount > request.bytes
            guard !isFull else { return false }
            bytes += message.byteCount
            taken.append(Taken(number: row["number"], delivery: delivery, message: message, time: row["time"]))
            return true
        }
    }

    /// How many messages are looked at in one transaction, for which others wait.
    private static let mostAtOnce = 5_000

    let requests: [Request]
    let holder: String

    /// - Returns: What each request got, and whether there are messages that were not looked at.
    func take(_ db: Database) throws -> (parts: [Part], hasMore: Bool) {
        let names = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT id, position, name, pattern FROM channels_consumers")
        )
        .reduce(into: [Int64: Row]()) { $0[$1[0]] = $1 }
        var parts = requests.map { request in
            // In a restored file, another name may have the number.
            let row = names[request.id].flatMap { row in
                ExactText(row[2]) == request.name && ExactText(row[3]) == ExactText(request.pattern.text) ? row : nil
            }
            let position: Int64? = row?[1]
            var part = Part(passed: max(position ?? 0, request.passed))
            part.isMissing = position == nil
            return part
        }
        try takeAgain(db, &parts)
        let hasMore = try takeNew(db, &parts)
        return (parts, hasMore)
    }

    private func takeAgain(_ db: Database, _ parts: inout [Part]) throws {
        let free = try db.cachedStatement(
            sql: """
                SELECT number, subject, headers, body, time, deliveries
                FROM channels_unsettled JOIN channels_messages USING (number)
                WHERE consumer = ? AND holder IS NULL ORDER BY number
                """
        )
        let hold = try db.cachedStatement(
            sql: "UPDATE channels_unsettled SET deliveries = ?, holder = ? WHERE consumer = ? AND number = ?"
        )
        for index in requests.indices where !parts[index].isMissing {
            let request = requests[index]
            let rows = try Row.fetchCursor(free, arguments: [request.id])
            while let row = try rows.next(), try parts[index].add(row, row["deliveries"] + 1, request) {}
            for item in parts[index].taken {
                try hold.execute(arguments: [item.delivery, holder, request.id, item.number])
            }
        }
    }

    /// Reads each message once, for all names, and moves their positions past the messages they took.
    private func takeNew(_ db: Database, _ parts: inout [Part]) throws -> Bool {
        var open = parts.indices.filter { !parts[$0].isMissing && !parts[$0].isFull }
        guard let start = open.map({ parts[$0].passed }).min() else { return false }
        let again = parts.map(\.taken.count)
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT number, subject, headers, body, time FROM channels_messages
                    WHERE number > ? AND durable ORDER BY number LIMIT \(Self.mostAtOnce)
                    """
            ),
            arguments: [start]
        )
        var count = 0
        while !open.isEmpty, let row = try rows.next() {
            count += 1
            let (number, subject) = (row["number"] as Int64, row["subject"] as String)
            try open.removeAll { index in
                guard parts[index].passed < number else { return false }
                if requests[index].pattern.matches(subject), try !parts[index].add(row, 1, requests[index]) {
                    return true
                }
                parts[index].passed = number
                return false
            }
        }
        let hold = try db.cachedStatement(
            sql: "INSERT INTO channels_unsettled (consumer, number, deliveries, holder) VALUES (?, ?, 1, ?)"
        )
        let move = try db.cachedStatement(sql: "UPDATE channels_consumers SET position = ? WHERE id = ?")
        // If a name took nothing, its position may stay: there is nothing for it beyond.
        for index in parts.indices where parts[index].taken.count > again[index] {
            for item in parts[index].taken[again[index]...] {
                try hold.execute(arguments: [requests[index].id, item.number, holder])
            }
            try move.execute(arguments: [parts[index].passed, requests[index].id])
        }
        return count == Self.mostAtOnce && !open.isEmpty
    }
}
#endif
