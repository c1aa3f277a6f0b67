#if Inspector
internal import Channels
internal import Foundation
internal import NIOCore

/// Takes pictures of a switchboard while pages are open, and keeps the newest one for them.
actor Feed {
    private let watch: Watch
    private let limits: ServerLimits
    private var picture = Picture()
    private var pages = 0
    private var spent = Duration.zero
    private var looking: Task<Void, Never>?
    /// The last event, because all pages that keep up ask for the same one.
    private var encoded: (told: Int, event: Event)?

    /// An encoded picture.
    struct Event: Sendable {
        /// The number of the picture.
        var number = 0
        /// The number of the last entry in it.
        var lastEntry = 0
        var bytes = ByteBuffer()
    }

    /// The number of the newest picture. It is a state, so that a busy page only receives the newest one.
    nonisolated let pictures = StateChannel(0)

    init(_ watch: Watch, limits: ServerLimits) {
        self.watch = watch
        self.limits = limits
    }

    /// An open page. It is open as long as this object lives.
    final class Page: Sendable {
        private let feed: Feed

        fileprivate init(_ feed: Feed) { self.feed = feed }

        deinit { Task { [feed] in await feed.close() } }
    }

    /// Opens a page; returns nil if the maximum number is open.
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
                // No matter how large the switchboard is, taking and encoding pictures takes at most a
                // twentieth of one core.
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

    /// Returns how long taking and encoding pictures has taken since the last call.
    private func takeSpent() -> Duration {
        defer { spent = .zero }
        return spent
    }

    private func look() {
        // The last page may have closed while this waited for the actor.
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

    /// Returns the newest picture, for a page that has received the entries up to a number.
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

    /// Returns the channel with an identifier in the newest picture.
    func channel(_ id: String) -> Reading.Channel? { picture.channel(id) }

    /// Returns all channels as they are now.
    func channels() -> [Reading.Channel] {
        if pages > 0 { return picture.sorted }
        var picture = Picture()
        picture.take(watch.read())
        return picture.sorted
    }
}
#endif
