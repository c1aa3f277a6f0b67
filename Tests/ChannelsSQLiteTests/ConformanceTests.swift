#if SQLite
import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsSQLite
import TestSupport
import Testing

/// What every transport has to do.
struct ConformanceTests {
    @Test(arguments: TransportConformance.checks)
    func theTransportConforms(to check: TransportConformance.Check) async throws {
        let file = TemporaryFile()
        let suite = TransportConformance(timeout: .patience) {
            SQLiteTransport(path: file.path)
        }
        let outcome = await suite.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
        // Requests and groups are not carried, and a file has no connection that breaks.
        let isCarried = check.needs.isDisjoint(with: [.requests, .groups])
        #expect(outcome.skipped == nil || !isCarried || check.interrupts, "\(outcome)")
    }
}
#endif
