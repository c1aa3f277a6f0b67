public import Channels
public import ChannelsBridge

extension PostgreSQLTransport: MessageStore {
    /// Returns how many messages a durable name has not settled yet.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        Int(try await run(pattern, "SELECT channels_count($1, $2)", .text(name), .text(pattern.text))[0].int(0))
    }

    /// Returns the next stored durable messages that match a pattern.
    public func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        let (after, most) = (Parameter.int(min(number, UInt64(Int64.max))), Parameter.int(min(limit, 256)))
        let page = "SELECT * FROM channels_stored($1, $2, $3)"
        return try await run(pattern, page, after, .text(pattern.text), most).map { row in
            StoredMessage(
                number: UInt64(row.int(0)),
                try TransportMessage(row, from: 2),
                secondsSince1970: row.double(1)
            )
        }
    }

    /// Removes a stored message, for all durable names.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        let remove = """
            WITH gone AS (DELETE FROM channels_messages WHERE number = $1)
            DELETE FROM channels_unsettled WHERE number = $1
            """
        _ = try await run(pattern, remove, .int(min(number, UInt64(Int64.max))))
    }

    /// Runs a statement after everything that was published before.
    private func run(_ pattern: ChannelPattern, _ sql: String, _ parameters: Parameter...) async throws -> [Answer.Row]
    {
        let statement = Statement(sql, parameters)
        return try await mailbox(pattern.text).ask { $0.perform($1, pattern.text) { try $0.run([statement])[0].rows } }
    }
}
