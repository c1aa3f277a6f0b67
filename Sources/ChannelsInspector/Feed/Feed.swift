#if Inspector
internal import Channels
internal import Foundation
internal import NIOCore

/// Looks at a switchboard while pages are open, and keeps for them what it saw.
actor Feed {
    private let watch: Watch
    private let limits: ServerLimits
    private var history = History()
    private var tracing = Tracing.on
    private var pages = 0
    private var spent = Duration.zero
    private let instance = Token.random()
    /// The version whose page is told whether posts are traced now.
    private var tracedSince = 0
    private var looking: Task<Void, Never>?
    /// The last changes as bytes: pages that keep up all ask for the same.
    private var encoded: (since: Int, event: ByteBuffer)?

    /// The version of the newest picture. A state, so that a page that is busy hears of the newest only.
    nonisolated let versions = StateChannel(0)

    init(_ watch: Watch, limits: ServerLimits) {
        self.watch = watch
        self.limits = limits
    }

    /// A page that is open, for as long as this lives.
    final class Page: Sendable {
        private let feed: Feed

        fileprivate init(_ feed: Feed) { self.feed = feed }

        deinit { Task { [feed] in await feed.close() } }
    }

    /// Opens a page; nil if there are as many as there may be.
    func open() -> Page? {
        guard pages < limits.streams else { return nil }
        pages += 1
        if pages == 1 { begin() }
        return Page(self)
    }

    private func close() {
        pages -= 1
        if pages == 0 { end() }
    }

    private func begin() {
        watch.begin(tracing)
        look()
        looking = Task(priority: .utility) { [weak self, limits] in
            var pause = limits.interval
            while (try? await Task.sleep(for: pause)) != nil, let self {
                await self.look()
                // However large the switchboard, looking and telling take no more than a twentieth of one core.
                pause = await max(limits.interval, self.takeSpent() * 19)
            }
        }
    }

    private func end() {
        looking?.cancel()
        looking = nil
        watch.end()
        history = History(after: history)
        encoded = nil
    }

    /// How long looking, and making events, took since the last call.
    private func takeSpent() -> Duration {
        defer { spent = .zero }
        return spent
    }

    private func look() {
        // Cancelled while it waited for its turn.
        guard pages > 0 else { return }
        let start = ContinuousClock.now
        defer { spent += ContinuousClock.now - start }
        let reading = watch.read()
        history.take(reading, at: Date().timeIntervalSince1970 * 1_000)
        encoded = nil
        versions.set(history.version)
    }

    /// Changes whether posts are traced from now on.
    func trace(_ tracing: Tracing) {
        guard self.tracing != tracing else { return }
        self.tracing = tracing
        tracedSince = history.version + 1
        if pages > 0 { watch.record(tracing) }
    }

    /// What has changed since a version, as an event, and the version it leads to.
    func event(since version: Int) throws -> (version: Int, event: ByteBuffer) {
        if let encoded, encoded.since == version { return (history.version, encoded.event) }
        let start = ContinuousClock.now
        defer { spent += ContinuousClock.now - start }
        var changes = history.changes(since: version)
        changes.instance = instance
        if changes.since <= tracedSince { changes.tracing = tracing }
        let data = try JSONEncoder().encode(changes)
        var event = ByteBuffer()
        event.reserveCapacity(data.count + 32)
        event.writeString("event: changes\ndata: ")
        event.writeBytes(data)
        event.writeString("\n\n")
        encoded = (version, event)
        return (history.version, event)
    }

    /// The channel behind an identifier of the changes, and its faults.
    func channel(_ id: Int) -> (channel: Reading.Channel, faults: Int)? {
        history.channel(id).map { ($0, history.faults(on: $0)) }
    }

    /// All channels, as they are now.
    func channels() -> [Reading.Channel] {
        if pages > 0 { return history.channels }
        var history = History()
        history.take(watch.read(), at: 0)
        return history.channels
    }
}
#endif
