import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsPostgreSQL
import Synchronization
import Testing

/// What every transport must do.
@Suite(.enabled(if: Server.shared != nil, "Examples/PostgreSQL/check starts a server"), .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test(arguments: TransportConformance.checks.filter { $0.requirement != .rollBack })
    func theTransportConforms(to check: TransportConformance.Check) async throws {
        try await run(check, on: #require(Server.shared))
    }

    @Test(arguments: TransportConformance.checks.filter { $0.requirement == .rollBack })
    func theTransportGoesOnAfterAnOlderCopyWasRestored(by check: TransportConformance.Check) async throws {
        try await run(check, on: Server())
    }

    private func run(_ check: TransportConformance.Check, on server: Server) async throws {
        let names = Mutex<[ObjectIdentifier: String]>([:])
        let suite = TransportConformance(
            timeout: .seconds(240),
            interrupt: { transport, body in
                // The server ends the connection, and the transport connects again.
                let name = names.withLock { $0[ObjectIdentifier(transport as! PostgreSQLTransport)]! }
                let client = try server.client()
                let activity = "FROM pg_stat_activity WHERE application_name = '\(name)'"
                let old = try client.run("SELECT pid, pg_terminate_backend(pid) \(activity)")[0][0]
                try await body()
                try await client.wait(until: "count(*) > 0 \(activity) AND pid <> \(old)")
            },
            rollBack: { body in
                try server.copy()
                try await body()
                try server.goBack()
            },
            transactions: TransportConformance.Transactions(
                post: { message, channel, commits in
                    try server.client().transaction(commits: commits) { try channel.post(message, in: $0) }
                },
                settle: { post, commits in
                    try server.client().transaction(commits: commits) { try post.settle(in: $0) }
                }
            ),
            makeOther: {
                server.transport {
                    $0.pollInterval = .milliseconds(50)
                    $0.answerTimeout = .seconds(9)
                    $0.bufferLimit = 1
                }
            },
            makeTransport: {
                let name = "test-\(UInt64.random(in: .min ... .max))"
                let transport = server.transport { $0.connection += " application_name=\(name)" }
                names.withLock { $0[ObjectIdentifier(transport)] = name }
                return transport
            }
        )
        let outcome = await suite.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
        #expect(outcome.skipped == nil || !check.needs.isDisjoint(with: [.requests, .groups]), "\(outcome)")
    }
}
