#if SQLite
import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsSQLite
import GRDB
import TestSupport
import Testing

/// What every transport has to do.
struct ConformanceTests {
    private struct RolledBack: Error {}

    @Test(arguments: TransportConformance.checks)
    func theTransportConforms(to check: TransportConformance.Check) async throws {
        let file = TemporaryFile()
        let suite = TransportConformance(
            timeout: .patience,
            rollBack: { body in
                let copy = TemporaryFile()
                try file.foreignDatabase().backup(to: copy.foreignDatabase())
                try await body()
                try copy.foreignDatabase().backup(to: file.foreignDatabase())
            },
            transactions: TransportConformance.Transactions(
                post: { message, channel, commits in
                    try await Self.transaction(on: file, commits) { try channel.post(message, in: $0) }
                },
                settle: { post, commits in
                    try await Self.transaction(on: file, commits) { try post.settle(in: $0) }
                }
            ),
            makeOther: {
                var configuration = SQLiteConfiguration(path: file.path)
                configuration.synchronous = .normal
                return SQLiteTransport(configuration)
            },
            makeTransport: { SQLiteTransport(path: file.path) }
        )
        let outcome = await suite.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
        // Requests and groups are not carried, and a file has no connection that breaks.
        let isCarried = check.needs.isDisjoint(with: [.requests, .groups])
        #expect(outcome.skipped == nil || !isCarried || check.requirement == .interrupt, "\(outcome)")
    }

    private static func transaction(
        on file: TemporaryFile,
        _ commits: Bool,
        _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        do {
            try await file.foreignDatabase().write { db in
                try body(db)
                if !commits { throw RolledBack() }
            }
        } catch is RolledBack {}
    }
}
#endif
