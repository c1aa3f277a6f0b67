internal import Channels
internal import ChannelsBridge

/// The tables and functions of `schema.sql`, which are in the first schema of the connection's `search_path`.
enum Schema {
    static let version = 1
    /// The largest body, in bytes. Larger data belongs elsewhere.
    static let bodyLimit = 16 << 20
    /// How many seconds messages that are not durable are kept for slow subscribers.
    static let plainRetention = 60

    /// Creates the tables and functions if they are missing.
    static func prepare(_ connection: Connection) throws {
        // Without this, the plans of prepared statements would read whole tables to find the newest rows.
        let settings =
            "SELECT set_config('enable_seqscan', 'off', false), set_config('tcp_keepalives_idle', '5', false)"
        let isMissing = Statement("SELECT to_regclass('channels_schema') IS NULL")
        if try connection.run([Statement(settings), isMissing])[1].rows[0].bool(0) {
            // If two processes begin at the same time, the second one waits, and then finds the tables.
            let tables = String(decoding: PackageResources.schema_sql, as: UTF8.self)
            let create = "DO $do$ BEGIN IF to_regclass('channels_schema') IS NULL THEN \(tables) END IF; END $do$"
            try connection.run([Statement("SELECT pg_advisory_xact_lock(7021802)"), Statement(create)])
        }
        let found = try connection.run([Statement("SELECT version FROM channels_schema")])[0].rows.first?.int(0) ?? 0
        guard found <= version else {
            let detail = "the tables have version \(found), and this program knows \(version): use a newer one"
            throw BridgeError(.settingsDiffer, detail: detail)
        }
    }

    static func check(_ message: TransportMessage) throws {
        guard message.body.count > bodyLimit else { return }
        let detail = "\(message.body.count) bytes, the limit is \(bodyLimit)"
        throw BridgeError(.payloadTooLarge, subject: message.subject, detail: detail)
    }

    static func insert(_ message: TransportMessage, durable: Bool) -> Statement {
        let table = durable ? "channels_messages" : "channels_plain"
        let sql = "INSERT INTO \(table) (subject, headers, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        return Statement(sql, message.parameters)
    }

    static func store(_ message: TransportMessage, ifNone: Bool) -> Statement {
        Statement("SELECT * FROM channels_store($1, $2, $3, $4)", message.parameters + [.text("\(ifNone)")])
    }

    static func enter(_ name: String, _ subscription: TransportSubscription) -> Statement {
        var (isNew, first, since) = (false, UInt64(0), "-infinity")
        switch subscription.start?.position {
        case nil, .beginning: break
        case .new: isNew = true
        case .sequence(let number): first = min(number, UInt64(Int64.max))
        case .time(let seconds): since = "\(seconds)"
        }
        let place: [Parameter] = [.text("\(isNew)"), .int(first), .text(since)]
        let name: [Parameter] = [.text(name), .text(subscription.pattern.text)]
        return Statement("SELECT channels_enter($1, $2, $3, $4, $5)", name + place)
    }
}

extension TransportMessage {
    /// The subject, headers and body. Each header is a line, because neither names nor values have control
    /// characters.
    var parameters: [Parameter] {
        [.text(subject), .text(headers.map { "\($0.name):\($0.value)\n" }.joined()), .bytes(body)]
    }

    /// Creates a message from a row with subject, headers and body from this column on.
    init(_ row: Answer.Row, from column: Int) throws {
        var headers = TransportHeaders()
        // Split by bytes, because a colon and a combining mark after it are one character. Other clients also
        // write headers, so invalid ones are left out.
        for line in (row.bytes(column + 1) ?? []).split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
            try? headers.set(
                String(decoding: value, as: UTF8.self),
                for: String(decoding: line[..<colon], as: UTF8.self)
            )
        }
        try self.init(subject: row.text(column), headers: headers, body: row.bytes(column + 2) ?? [])
    }
}
