#if NATS || SQLite
import Channels
import ChannelsBridge

extension Bridge {
    /// Runs the bridge in a task, and returns when it carries messages. Throws if the broker cannot be
    /// reached: `run()` would wait for it, but the tour does not.
    @MainActor
    func start() async throws -> Task<Void, any Error> {
        let running = Task { try await run() }
        let status = await status.first { $0.isReady || $0.reason != nil || $0.phase == .ended }
        if let reason = status?.reason {
            running.cancel()
            throw reason
        }
        return running
    }
}
#endif
