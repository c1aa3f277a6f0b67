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
        // Requests are not carried, and a file has no connection that breaks.
        #expect(outcome.skipped == nil || check.needs.contains(.requests) || check.interrupts, "\(outcome)")
    }
}
#endif
