internal import Channels

/// Synchronizes the named states of a type whose names match a pattern, in one direction or both. It watches
/// their subjects, listens for states that are set here, and leaves each name to a ``StateWorker``.
///
/// `names` and `token` are guarded by their locks; no worker is called while one is held.
final class MatchingStatesWorker<State: Codable & Sendable>: RouteWorker {
    private let pattern: ChannelPattern
    private let format: MessageFormat
    private let ways: BridgeRoute.StateWays
    /// The routes that take precedence, and those that this one takes precedence over.
    private let (earlier, later): ([BridgeRoute.Part], [BridgeRoute.Part])
    private let context: BridgeContext
    private let names = Locked(StateNames<StateWorker<State>>())
    private let token = Locked<ListenerToken?>(nil)

    init(
        _ pattern: ChannelPattern,
        _ format: MessageFormat,
        _ ways: BridgeRoute.StateWays,
        shadowedBy earlier: [BridgeRoute.Part],
        before later: [BridgeRoute.Part],
        _ context: BridgeContext
    ) {
        (self.pattern, self.format, self.context) = (pattern, format, context)
        (self.ways, self.earlier, self.later) = (ways, earlier, later)
    }

    private var workers: [StateWorker<State>] { names.withLock { $0.all } }

    var needs: TransportCapabilities { .lastValues }

    func start() async throws {
        guard ways.receives || later.contains(where: { $0.ways?.receives == true }) else { return }
        let subjects = try context.configuration.subjects(matching: pattern)
        try await context.transport.watch(subjects) { [weak self] value in self?.arrived(value) }
    }

    func work() {
        for worker in names.withLock({ $0.begin() }) { worker.work() }
        guard ways.sends || later.contains(where: { $0.ways?.sends == true }) else { return }
        let token = context.switchboard.states(matching: pattern).listen(priority: .last) { [weak self] post in
            guard post.origin == .local, let name = post.channelName else { return }
            self?.hear(name)
        }
        self.token.withLock { $0 = token }
        // The listener reports states that are set from now on; this finds those set before.
        for (name, state) in context.switchboard.states(of: State.self) where pattern.matches(name) && state.wasSet {
            sender(of: name)?.listen(to: state, isInitial: true)
        }
    }

    func caughtUp() async {
        for worker in workers { await worker.caughtUp() }
    }

    func connectionIsBack() {
        for worker in workers { worker.connectionIsBack() }
    }

    /// Stores all values again when the loss is noticed, because transports need not say which subjects of a
    /// pattern have lost theirs.
    func lastValuesLost(on subject: String?) {
        guard let subject else { return workers.forEach { $0.storeAgain() } }
        let name = context.configuration.name(ofSubject: subject)
        names.withLock { $0.worker(of: name) }?.storeAgain()
    }

    func finish() async {
        token.withLock { $0.take() }?.cancel()
        await withTaskGroup(of: Void.self) { group in
            for worker in names.withLock({ $0.end() }) { group.addTask { await worker.finish() } }
        }
    }

    var isIdle: Bool { workers.allSatisfy(\.isIdle) }

    func abandon() {
        for worker in names.withLock({ $0.end() }) { worker.abandon() }
    }

    /// Called when a state was set in this process. Its type may be another one.
    private func hear(_ name: String) {
        guard let state = context.switchboard.state(ifMade: name, of: State.self) else { return }
        sender(of: name)?.listen(to: state, isInitial: false)
    }

    private func left(for name: String) -> BridgeRoute.StateWays { earlier.left(of: ways, and: later, for: name) }

    private func sender(of name: String) -> StateWorker<State>? {
        if let known = names.withLock({ $0.worker(of: name) }) { return known }
        guard left(for: name).sends else { return nil }
        return worker(of: name, isFromElsewhere: false)
    }

    /// Called by the transport.
    private func arrived(_ value: StoredValue) {
        let name = context.configuration.name(ofSubject: value.message.subject)
        guard left(for: name).receives else { return }
        worker(of: name, isFromElsewhere: true)?.arrived(value)
    }

    private func worker(of name: String, isFromElsewhere: Bool) -> StateWorker<State>? {
        let found = names.withLock { names in
            names.worker(of: name, isFromElsewhere: isFromElsewhere) {
                let place = StatePlace<State>(name, context.switchboard)
                return StateWorker(name, place, format, left(for: name), context)
            }
        }
        switch found {
        case .known(let worker): return worker
        case .new(let worker, let begins):
            if begins { worker.work() }
            return worker
        case .ended: return nil
        case .tooMany:
            let detail = "other processes have stored states of more than \(StateNames<Void>.limit) names on \(pattern)"
            context.lose(BridgeError(.bufferFull, subject: name, detail: detail), \.overflowed)
            return nil
        }
    }
}
