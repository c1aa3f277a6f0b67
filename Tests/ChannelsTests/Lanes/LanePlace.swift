import Channels
import Dispatch

/// Where the listeners of a test of lanes run.
enum LanePlace: CaseIterable, Sendable {
    case mainActor, actorOwner, closureOfAnActor, globalActor
    case serialQueue, concurrentQueue, suspendedQueue
    /// On Linux another object each time.
    case mainQueue
}

/// One place of a kind: listeners registered with it share a lane.
final class LaneSite: Sendable {
    let place: LanePlace
    private let clerk = Clerk()
    private let registrar = Registrar()
    private let queue: DispatchQueue

    init(_ place: LanePlace) {
        self.place = place
        queue =
            switch place {
            case .concurrentQueue: DispatchQueue(label: "lane", attributes: .concurrent)
            case .suspendedQueue: .suspended()
            default: DispatchQueue(label: "lane")
            }
    }

    func listen(
        to source: some Listenable<Int>,
        priority: ListenerPriority = .normal,
        _ body: @escaping @Sendable (Int) -> Void
    ) async -> ListenerToken {
        switch place {
        case .mainActor: source.listen(priority: priority) { @MainActor message in body(message) }
        case .actorOwner: source.listen(clerk, priority: priority) { (_: isolated Clerk, message) in body(message) }
        case .closureOfAnActor: await registrar.listen(to: source, priority: priority, body)
        case .globalActor: source.listen(priority: priority) { @Backstage message in body(message) }
        case .serialQueue, .concurrentQueue, .suspendedQueue:
            source.listen(on: queue, priority: priority) { body($0) }
        case .mainQueue: source.listen(on: .main, priority: priority) { body($0) }
        }
    }

    /// Lets the queue go on that stood still until now.
    func begin() { if place == .suspendedQueue { queue.resume() } }

    /// Registers closures that are isolated to it, without being their owner.
    private actor Registrar {
        private var calls = 0

        func listen(
            to source: some Listenable<Int>,
            priority: ListenerPriority,
            _ body: @escaping @Sendable (Int) -> Void
        ) -> ListenerToken {
            source.listen(priority: priority) { message in
                self.calls += 1
                body(message)
            }
        }
    }
}

@globalActor
actor Backstage {
    static let shared = Backstage()
}
