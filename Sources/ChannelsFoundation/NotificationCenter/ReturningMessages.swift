internal import Channels

/// The typed messages that links have just posted and that one observer is about to be called with.
///
/// A typed message has no `userInfo`, at least on Linux, to hold its route. So a link leaves the route here before it
/// posts, once for each observer of the kind, and the observer finds it by comparing messages. Equal messages are
/// interchangeable, so it does not matter which of them is found. Messages that are not `Equatable`, or do not equal
/// themselves because they contain a NaN, could not be found, so no route is left for them.
final class ReturningMessages<Message: Sendable>: Sendable {
    private struct Entry {
        let number: Int
        let message: Message
        let route: NotificationRoute
    }

    private struct State {
        var entries: [Entry] = []
        var count = 0
    }

    private let state = Locked(State())

    /// Notes that an observer of the center is about to be called with the message.
    func expect(_ message: Message, _ route: NotificationRoute) {
        guard areEqual(message, message) else { return }
        state.withLock { state in
            state.count += 1
            state.entries.append(Entry(number: state.count, message: message, route: route))
        }
    }

    /// The route of a message that has arrived; nil if no link has posted it.
    func route(of message: Message) -> NotificationRoute? {
        while true {
            // `==` is user code, so it runs without the lock.
            let entries = state.withLock { $0.entries }
            guard let found = entries.first(where: { areEqual($0.message, message) }) else { return nil }
            let removed = state.withLock { state -> Bool in
                guard let index = state.entries.firstIndex(where: { $0.number == found.number }) else { return false }
                state.entries.remove(at: index)
                return true
            }
            if removed { return found.route }
        }
    }
}

/// The observers of a center that are called with the typed messages of a kind.
final class ReturningRegistry: Sendable {
    static let shared = ReturningRegistry()

    private let observers = Locked<[NotificationRoute.Stop: [any AnyObject & Sendable]]>([:])

    func add(_ returning: ReturningMessages<some Sendable>, at stop: NotificationRoute.Stop) {
        observers.withLock { $0[stop, default: []].append(returning) }
    }

    func remove(_ returning: ReturningMessages<some Sendable>, at stop: NotificationRoute.Stop) {
        observers.withLock { observers in
            observers[stop]?.removeAll { $0 === returning }
            if observers[stop]?.isEmpty == true { observers[stop] = nil }
        }
    }

    /// Returns whether a post is to be sent on to a stop. If so, the observers there expect it.
    func expect<Message>(_ post: Posted<Message>, over leg: RouteLeg, at goal: NotificationRoute.Stop) -> Bool {
        let route = post.sender as? NotificationRoute
        guard route?.contains(goal) != true else { return false }
        let extended = leg.extending(route)
        for returning in observers.withLock({ $0[goal] ?? [] }) {
            (returning as? ReturningMessages<Message>)?.expect(post.message, extended)
        }
        return true
    }
}
