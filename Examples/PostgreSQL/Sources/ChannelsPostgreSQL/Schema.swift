internal import Channels
internal import ChannelsBridge

/// The tables and functions, which stand in the first schema of the connection's `search_path`.
enum Schema {
    static let version = 1
    private static let tables = String(decoding: PackageResources.schema_sql, as: UTF8.self)

    /// Creates what is not there, and adopts tables that were restored from a dump of another cluster.
    static func prepare(_ connection: Connection) throws {
        // The plans of generic statements would read whole tables to find the newest rows.
        try connection.run([
            Statement("SELECT set_config('enable_seqscan', 'off', false), set_config('bytea_output', 'hex', false)"),
            Statement(
                "SELECT set_config('statement_timeout', '0', false), set_config('tcp_keepalives_idle', '5', false)"
            ),
        ])
        if try connection.run([Statement("SELECT to_regclass('channels_schema') IS NULL")])[0].rows[0].bool(0) {
            // Two that begin at once: the second waits, and then finds the tables.
            let lock = Statement("SELECT pg_advisory_xact_lock(7021802)")
            let create =
                "DO $channels$ BEGIN IF to_regclass('channels_schema') IS NULL THEN \(tables) END IF; END $channels$"
            try connection.run([lock, Statement(create)])
        }
        let found = try connection.run([Statement("SELECT version FROM channels_schema")])[0].rows.first?.int(0) ?? 0
        guard found <= version else {
            let detail =
                "the database has version \(found) of the tables, and this program knows \(version): use a newer one"
            throw BridgeError(.settingsDiffer, detail: detail)
        }
        try connection.run([Statement("SELECT channels_adopt()")])
    }

    /// The regular expression of the subjects that match a pattern.
    static func expression(of pattern: String) -> String {
        let tokens = pattern.split(separator: ".", omittingEmptySubsequences: false).map { token in
            switch token {
            case "*": "[^.]+"
            case ">": ".+"
            default:
                String(
                    String.UnicodeScalarView(
                        token.unicodeScalars.flatMap { scalar in
                            let isPlain =
                                scalar.properties.isAlphabetic || !scalar.isASCII
                                || scalar.properties.numericType != nil
                            return isPlain ? [scalar] : ["\\", scalar]
                        }
                    )
                )
            }
        }
        return "^\(tokens.joined(separator: "\\."))$"
    }

    // MARK: Statements

    /// Enters a durable name, unless it is there.
    static func enter(_ name: String, _ subscription: TransportSubscription) -> Statement {
        var (isNew, first, since) = (false, UInt64(0), -Double.infinity)
        switch subscription.start?.position {
        case nil, .beginning: break
        case .new: isNew = true
        case .sequence(let number): first = min(number, UInt64(Int64.max))
        case .time(let seconds): since = seconds
        }
        return Statement(
            """
            INSERT INTO channels_names (name, pattern, expression, seen, first, since)
            VALUES ($1, $2, $3, CASE WHEN $4::boolean THEN pg_current_snapshot() ELSE '1:1:' END, $5, to_timestamp($6::float8))
            ON CONFLICT DO NOTHING
            """,
            .text(name),
            .text(subscription.pattern.text),
            .text(expression(of: subscription.pattern.text)),
            .text("\(isNew)"),
            .int(first),
            .text(since == -.infinity ? "-Infinity" : "\(since)")
        )
    }

    static func insert(_ message: TransportMessage, durable: Bool) -> Statement {
        let table = durable ? "channels_messages" : "channels_plain"
        return Statement(
            "INSERT INTO \(table) (subject, headers, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING xid::text::bigint",
            .text(message.subject),
            .text(message.headers.lines),
            .bytes(message.body)
        )
    }

    /// Its revisions increase also after an older copy of the database was restored: they are times, and one more than
    /// the former one at least.
    static func store(_ message: TransportMessage, ifNone: Bool) -> Statement {
        let ifThereIsOne =
            ifNone
            ? "DO NOTHING"
            : """
            (subject) DO UPDATE SET revision = greatest(old.revision + 1, EXCLUDED.revision), xid = pg_current_xact_id(),
                headers = EXCLUDED.headers, body = EXCLUDED.body
            """
        return Statement(
            """
            INSERT INTO channels_values AS old (subject, headers, body, revision)
            VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
            ON CONFLICT \(ifThereIsOne) RETURNING revision
            """,
            .text(message.subject),
            .text(message.headers.lines),
            .bytes(message.body)
        )
    }
}

extension TransportHeaders {
    /// A line for each. Neither names nor values have control characters, and names no colon.
    var lines: String { map { "\($0.name):\($0.value)\n" }.joined() }

    /// By bytes: a combining mark after a colon would be one character with it. Others write headers, too: those
    /// that are not valid are left out.
    init(lines: [UInt8]) {
        self.init()
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
            try? set(String(decoding: value, as: UTF8.self), for: String(decoding: line[..<colon], as: UTF8.self))
        }
    }
}

extension TransportMessage {
    /// Out of a row with subject, headers and body from this column on.
    init(_ row: Answer.Row, from column: Int) throws {
        let headers = TransportHeaders(lines: row.bytes(column + 1) ?? [])
        try self.init(subject: row.text(column), headers: headers, body: row.bytes(column + 2) ?? [])
    }

    /// The bytes that count towards limits: subject, headers and body.
    var byteCount: Int {
        headers.reduce(subject.utf8.count + body.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
    }
}
