import Channels
import ChannelsTesting

/// An owner without isolation.
final class FormListener: Sendable {
    let heard = Recorder<String>()

    func hear(_ text: String) { heard.record(text) }

    func hearOrThrow(_ text: String) throws {
        heard.record(text)
        throw Trouble(text: text)
    }

    /// Suspends on purpose.
    func hearLater(_ text: String) async {
        await Task.yield()
        heard.record(text)
    }

    func hearLaterOrThrow(_ text: String) async throws {
        await Task.yield()
        try hearOrThrow(text)
    }
}

/// An owner on the main actor.
@MainActor
final class FormView {
    var heard: [String] = []

    func hear(_ text: String) {
        MainActor.assertIsolated()
        heard.append(text)
    }

    func hearOrThrow(_ text: String) throws {
        hear(text)
        throw Trouble(text: text)
    }

    /// Suspends on purpose.
    func hearLater(_ text: String) async {
        await Task.yield()
        hear(text)
    }

    func hearLaterOrThrow(_ text: String) async throws {
        await Task.yield()
        try hearOrThrow(text)
    }
}

/// An owner that is an actor.
actor FormActor {
    var heard: [String] = []

    func hear(_ text: String) {
        assertIsolated()
        heard.append(text)
    }

    func hearOrThrow(_ text: String) throws {
        hear(text)
        throw Trouble(text: text)
    }

    /// Suspends on purpose.
    func hearLater(_ text: String) async {
        await Task.yield()
        hear(text)
    }

    func hearLaterOrThrow(_ text: String) async throws {
        await Task.yield()
        try hearOrThrow(text)
    }
}
