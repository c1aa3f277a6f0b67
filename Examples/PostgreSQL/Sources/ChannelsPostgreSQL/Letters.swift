public import Channels
public import ChannelsBridge
internal import Foundation

extension PostgreSQLTransport: MessageStore {
    /// Returns how many messages a durable name has yet to settle.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        let answers = try await run(
            pattern,
            Statement(
                "SELECT channels_distribute(id) FROM channels_names WHERE name = $1 AND pattern = $2",
                .text(name),
                .text(pattern.text)
            ),
            Statement(
                "SELECT count(*) FROM channels_unsettled WHERE name = (SELECT id FROM channels_names WHERE name = $1 AND pattern = $2)",
                .text(name),
                .text(pattern.text)
            )
        )
        return Int(answers[1].rows[0].int(0))
    }

    /// Returns the next stored durable messages that match a pattern.
    public func stored(
        after number: UInt64,
        matching pattern: ChannelPattern,
        atMost limit: Int,
        settledBy name: String
    ) async throws -> [StoredMessage] {
        let page = Statement(
            """
            SELECT m.number, extract(epoch FROM m.time)::float8, n.id IS NOT NULL AND pg_visible_in_snapshot(m.xid, n.seen)
                AND NOT EXISTS (SELECT FROM channels_unsettled u WHERE u.name = n.id AND u.number = m.number),
                m.subject, m.headers, m.body
            FROM channels_messages m LEFT JOIN channels_names n ON n.name = $3 AND n.pattern = $4
            WHERE m.number > $1 AND m.subject ~ $2 ORDER BY m.number LIMIT $5
            """,
            .int(min(number, UInt64(Int64.max))),
            .text(Schema.expression(of: pattern.text)),
            .text(name),
            .text(pattern.text),
            .int(min(limit, 256))
        )
        return try await run(pattern, page)[0].rows.map { row in
            StoredMessage(
                number: UInt64(row.int(0)),
                try TransportMessage(row, from: 3),
                secondsSince1970: row.double(1),
                isSettled: row.bool(2)
            )
        }
    }

    /// Settles a message for a durable name, unless a process has it.
    public func settle(_ number: UInt64, of name: String, on pattern: ChannelPattern) async throws {
        let answers = try await run(
            pattern,
            Schema.enter(name, TransportSubscription(to: pattern)),
            Statement(
                "SELECT channels_distribute(id) FROM channels_names WHERE name = $1 AND pattern = $2",
                .text(name),
                .text(pattern.text)
            ),
            Statement(
                """
                DELETE FROM channels_unsettled WHERE number = $3 AND holder IS NULL
                    AND name = (SELECT id FROM channels_names WHERE name = $1 AND pattern = $2)
                """,
                .text(name),
                .text(pattern.text),
                .int(min(number, UInt64(Int64.max)))
            )
        )
        guard answers[2].changed == 1 else {
            throw BridgeError(.refused, subject: pattern.text, detail: "\(number) is settled, or a process has it")
        }
    }

    /// Removes a stored message, for all durable names.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        let number = Parameter.int(min(number, UInt64(Int64.max)))
        _ = try await run(
            pattern,
            Statement("DELETE FROM channels_unsettled WHERE number = $1", number),
            Statement("DELETE FROM channels_messages WHERE number = $1", number)
        )
    }

    /// Runs statements in one transaction, after what was published before.
    private func run(_ pattern: ChannelPattern, _ statements: Statement...) async throws -> [Answer] {
        try await mailbox(pattern.text).ask { $0.perform($1, pattern.text) { try $0.run(statements) } }
    }
}
