#if Inspector
internal import Channels
internal import Foundation
internal import NIOCore

/// Samples a switchboard while pages are open, and keeps the pictures for them.
actor Feed {
    private let watch: Watch
    private let limits: ServerLimits
    private var picture = Picture()
    private var pages = 0
    private var spent = Duration.zero
    private var looking: Task<Void, Never>?
    /// The last event: pages that keep up all ask for the same.
    private var encoded: (told: Int, event: Event)?

    /// A picture as bytes.
    struct Event: Sendable {
        /// The number of the picture.
        var number = 0
        /// The number of the last entry in it.
        var lastEntry = 0
        var bytes = ByteBuffer()
    }

    /// The number of the newest picture. A state, so that a busy page receives the newest only.
    nonisolated let pictures = StateChannel(0)

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
        watch.begin(picture.tracing)
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
        picture.forget()
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
        picture.take(watch.read())
        encoded = nil
        pictures.set(picture.number)
    }

    /// Changes whether posts are traced from now on.
    func trace(_ tracing: Tracing) {
        guard picture.tracing != tracing else { return }
        picture.tracing = tracing
        guard pages > 0 else { return }
        watch.record(tracing)
        look()
    }

    /// The newest picture for a page that has received the entries up to a number.
    func event(after told: Int) throws -> Event {
        if let encoded, encoded.told == told { return encoded.event }
        let start = ContinuousClock.now
        defer { spent += ContinuousClock.now - start }
        let json = try JSONEncoder().encode(picture.after(told))
        var event = Event(number: picture.number, lastEntry: picture.lastEntry)
        event.bytes.reserveCapacity(json.count + 32)
        event.bytes.writeString("event: picture\ndata: ")
        event.bytes.writeBytes(json)
        event.bytes.writeString("\n\n")
        encoded = (told, event)
        return event
    }

    /// The channel of an identifier in the newest picture.
    func channel(_ id: String) -> Reading.Channel? { picture.channel(id) }

    /// All channels, as they are now.
    func channels() -> [Reading.Channel] {
        if pages > 0 { return picture.sorted }
        var picture = Picture()
        picture.take(watch.read())
        return picture.sorted
    }
}
#endif
