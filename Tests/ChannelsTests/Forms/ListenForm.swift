import Channels
import Dispatch

/// The forms of `listen`, each with a closure that the compiler takes for no other.
enum ListenForm: String, CaseIterable {
    case owner, ownerThrowing, ownerAsync, ownerOnQueue, actor, actorAsync
    case token, tokenThrowing, tokenAsync, tokenOnQueue

    /// Where the forms below are written: the file that faults and snapshots name.
    static let fileID = #fileID

    /// Those called before `post` returns, whoever posts: their closure, as written below, has no isolation.
    static let direct = allCases.filter { $0.delivery == .direct }

    /// Whether the closure may throw. (The forms on a queue and on an actor take both kinds.)
    var mayThrow: Bool { self != .owner && self != .token }

    var ownerType: String? {
        rawValue.hasPrefix("owner") ? "FormListener" : rawValue.hasPrefix("actor") ? "FormActor" : nil
    }

    var delivery: DeliveryKind {
        switch self {
        case .owner, .ownerThrowing, .token, .tokenThrowing: .direct
        case .ownerAsync, .actorAsync, .tokenAsync: .async
        case .ownerOnQueue, .tokenOnQueue: .queue
        case .actor: .actor
        }
    }
}

/// Who owns the listeners of a test, and where they run.
struct FormOwners {
    var listener = FormListener()
    var actor = FormActor()
    var queue = DispatchQueue(label: "forms")
}

extension ListenForm {
    /// Registers a listener in this form, which asserts that it runs where it should.
    ///
    /// - Parameter later: What asynchronous forms await after each message.
    func listen<Source: Listenable>(
        to source: Source,
        _ owners: FormOwners,
        priority: ListenerPriority = .normal,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        later: @escaping @Sendable () async -> Void = {},
        _ hear: @escaping @Sendable (Source.Message) throws -> Void
    ) -> ListenerToken {
        let (owner, actor, queue) = (owners.listener, owners.actor, owners.queue)
        switch self {
        case .owner:
            return source.listen(owner, priority: priority, once: once, buffering: buffering) { try? hear($1) }
        case .ownerThrowing:
            return source.listen(owner, priority: priority, once: once, buffering: buffering) { try hear($1) }
        case .ownerAsync:
            return source.listen(owner, priority: priority, once: once, buffering: buffering) { _, message in
                try hear(message)
                await later()
            }
        case .ownerOnQueue:
            return source.listen(owner, on: queue, priority: priority, once: once, buffering: buffering) { _, message in
                dispatchPrecondition(condition: .onQueue(queue))
                try hear(message)
            }
        case .actor:
            return source.listen(actor, priority: priority, once: once, buffering: buffering) { me, message in
                me.assertIsolated()
                try hear(message)
            }
        case .actorAsync:
            return source.listen(actor, priority: priority, once: once, buffering: buffering) { me, message in
                try hear(message)
                await later()
                me.assertIsolated()
            }
        case .token:
            return source.listen(priority: priority, once: once, buffering: buffering) { try? hear($0) }
        case .tokenThrowing:
            return source.listen(priority: priority, once: once, buffering: buffering) { try hear($0) }
        case .tokenAsync:
            return source.listen(priority: priority, once: once, buffering: buffering) { message in
                try hear(message)
                await later()
            }
        case .tokenOnQueue:
            return source.listen(on: queue, priority: priority, once: once, buffering: buffering) { message in
                dispatchPrecondition(condition: .onQueue(queue))
                try hear(message)
            }
        }
    }
}
