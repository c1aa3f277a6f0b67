import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsPostgreSQL
import Synchronization
import Testing

@Suite(.enabled(if: Server.isThere, "Examples/PostgreSQL/check starts a server"))
struct ConformanceTests {
    @Test(arguments: TransportConformance.checks)
    func postgreSQLConforms(to check: TransportConformance.Check) async throws {
        let names = Mutex<[ObjectIdentifier: String]>([:])
        let suite = TransportConformance(timeout: .seconds(60)) { transport, body in
            // The server ends the connection, and the transport makes another.
            let name = names.withLock { $0[ObjectIdentifier(transport as! PostgreSQLTransport)]! }
            let client = try Client()
            let activity = "FROM pg_stat_activity WHERE application_name = '\(name)'"
            let old = try client.run("SELECT pid, pg_terminate_backend(pid) \(activity)").map { $0[0] }
            try await body()
            try await client.wait(
                until: "SELECT count(*) > 0 \(activity) AND pid NOT IN (\((old + ["0"]).joined(separator: ", ")))"
            )
        } makeTransport: {
            let name = "test-\(UInt64.random(in: .min ... .max))"
            let transport = Server.transport { $0.connection += " application_name=\(name)" }
            names.withLock { $0[ObjectIdentifier(transport)] = name }
            return transport
        }
        let outcome = await suite.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
    }
}
