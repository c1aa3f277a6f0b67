import Channels
import Dispatch
import Testing

/// What listeners heard, in order, from any thread.
final class FormLog<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    func add(_ element: Element) {
        elements.withLock { $0.append(element) }
    }

    var all: [Element] { elements.withLock { $0 } }
}

/// An owner without isolation.
final class FormListener: Sendable {
    let heard = FormLog<String>()

    func hear(_ text: String) {
        heard.add(text)
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
}

/// An owner that is an actor.
actor FormActor {
    var heard: [String] = []

    func hear(_ text: String) {
        assertIsolated()
        heard.append(text)
    }

    /// Suspends on purpose.
    func hearLater(_ text: String) async {
        await Task.yield()
        heard.append(text)
    }
}

@globalActor
actor FormGlobalActor {
    static let shared = FormGlobalActor()
}

/// An owner on a global actor other than the main one.
@FormGlobalActor
final class FormLedger {
    var heard: [String] = []

    init() {}

    func hear(_ text: String) {
        FormGlobalActor.shared.assertIsolated()
        heard.append(text)
    }
}

/// What throwing listeners throw.
struct FormError: Error, Equatable {
    var text = "form"
}

extension FormListener {
    /// Suspends on purpose.
    func hearLater(_ text: String) async {
        await Task.yield()
        heard.add(text)
    }

    func hearOrThrow(_ text: String) throws {
        heard.add(text)
        throw FormError(text: text)
    }

    func hearLaterOrThrow(_ text: String) async throws {
        await Task.yield()
        heard.add(text)
        throw FormError(text: text)
    }
}
