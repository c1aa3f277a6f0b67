internal import Channels
internal import Synchronization

/// Synchronizes a named state with the last value of its subject, in one direction or both.
/// ``MatchingStatesWorker`` has one worker per name, and watches the subjects for all of them.
///
/// `guarded` is guarded by its lock. Values that are no longer needed are returned from it, so that they are
/// released without the lock.
final class StateWorker<State: Codable & Sendable>: RouteWorker {
    private struct Guarded {
        var sync = StateSync<Outgoing, StoredValue>()
        var hasStoredValue = false
        /// The identifier of the message with the newest value set here; nil since a value of the broker has replaced
        /// it.
        var newestOwn: String?
        /// Whether the listener's next call is the initial one with the current value.
        var isInitial = true
        var isClosed = false
        /// Whether the broker has lost the value.
        var isLost = false
        /// The state that the listener is registered on. The switchboard keeps it until its name is removed.
        weak var channel: StateChannel<State>?
        /// How many threads are registering a listener.
        var registering = 0
        /// Whether another attempt to store a value that was denied has been scheduled.
        var isToBeTriedAgain = false
        var token: ListenerToken?
        var task: Task<Void, Never>?
    }

    /// A value set here.
    private struct Outgoing {
        let value: State
        /// The message of a failed attempt. It is sent again with the same identifier, so that a broker that
        /// has stored it nevertheless recognizes it. With a new identifier, it would overwrite what others
        /// have stored since.
        var message: TransportMessage?
        /// Whether the value must not replace one of another process, because it was set before the start or
        /// is stored again.
        var onlyIfNone = false
        /// Whether nobody has set the value. Another process may then replace it with a value that was set
        /// earlier.
        var isInitial = false
    }

    private let name: String
    private let format: MessageFormat
    private let sends: Bool
    private let receives: Bool
    private let context: BridgeContext
    private let place: StatePlace<State>
    private let guarded = Locked(Guarded())
    private let bell = Bell()
    private let abandoned = Latch()
    /// Rings when a value that could not be stored may be tried again.
    private let restored = Bell()
    /// Opens when the value that the broker had at the start has been set here, or cannot be.
    private let hasCaughtUp = Latch()

    init(
        _ name: String,
        _ place: StatePlace<State>,
        _ format: MessageFormat,
        _ ways: BridgeRoute.StateWays,
        _ context: BridgeContext
    ) {
        (self.name, self.place, self.format, self.context) = (name, place, format, context)
        (sends, receives) = ways
    }

    var needs: TransportCapabilities { .lastValues }

    func start() async throws {
        guard receives else { return }
        let subject = try context.configuration.subjects(matching: BridgeRoute.pattern(named: name))
        try await context.transport.watch(subject) { [weak self] value in self?.arrived(value) }
    }

    func work() {
        if sends {
            guarded.withLock { $0.sync.isListening = true }
            // For a pattern, ``MatchingStatesWorker`` calls `listen` when there is a state.
            if place.isOne, let channel = place.find() { listen(to: channel, isInitial: true) }
        }
        let work = Task { [self] in
            var attempts = Attempts()
            defer { hasCaughtUp.open() }
            while !abandoned.isOpen {
                checkListener()
                storeIfLost()
                let (action, isOver) = guarded.withLock { ($0.sync.next(), $0.isClosed && $0.sync.isSettled) }
                if case .apply = action {} else { hasCaughtUp.open() }
                switch action {
                case .store(let value): await store(value, &attempts)
                case .apply(let value): await apply(value)
                case nil where isOver: return
                case nil: await bell.wait()
                }
            }
            if !isIdle { context.count(\.dropped) }
        }
        guarded.withLock { $0.task = work }
    }

    func caughtUp() async { try? await hasCaughtUp.wait() }

    /// Waits no longer for a listener that somebody has ended. The state still takes the values of others.
    private func checkListener() {
        let token = guarded.withLock { $0.token }
        guard token?.isActive == false else { return }
        guarded.withLock { if $0.token === token { $0.sync.isListening = false } }
    }

    /// Listens to the state that now has the name, unless it already does.
    ///
    /// - Parameter isInitial: Whether the value was set before the bridge carried the state.
    func listen(to channel: StateChannel<State>, isInitial: Bool) {
        // The previous state is released without the lock.
        let (isNew, before) = guarded.withLock { guarded -> (Bool, (ListenerToken?, StateChannel<State>?)) in
            let before = (guarded.token, guarded.channel)
            guard sends, !guarded.isClosed, before.1 !== channel else { return (false, before) }
            // The listener will not receive a value that was being applied to a state that has been removed.
            if before.1 != nil { guarded.sync.isListening = true }
            (guarded.channel, guarded.token, guarded.isInitial) = (channel, nil, isInitial)
            guarded.registering += 1
            return (true, before)
        }
        guard isNew else { return }
        before.0?.cancel()
        let token = channel.posts.listen { [weak self, weak channel] post in
            self?.heard(post.message, post.origin, on: channel)
        }
        let (isKept, current) = guarded.withLock { guarded -> (Bool, StateChannel<State>?) in
            let current = guarded.channel
            guarded.registering -= 1
            guard !guarded.isClosed, current === channel else { return (false, current) }
            guarded.token = token
            return (true, current)
        }
        if !isKept { token.cancel() }
        bell.ring()
        withExtendedLifetime(current) {}
    }

    func finish() async {
        let (token, task) = guarded.withLock { guarded in
            guarded.isClosed = true
            return (guarded.token, guarded.task)
        }
        token?.cancel()
        guarded.withLock { $0.sync.isListening = false }
        bell.ring()
        await task?.value
    }

    func abandon() {
        abandoned.open()
        restored.ring()
        guarded.withLock { $0.task }?.cancel()
    }

    /// Tries a refused value again, because the broker may have other limits now.
    func connectionIsBack() {
        guarded.withLock { $0.sync.connectionIsBack() }
        restored.ring()
        bell.ring()
    }

    /// Whether everything set here is stored, or was refused.
    var isIdle: Bool { guarded.withLock { $0.sync.isSettled } }

    /// Stores the value of this process again. As after any partition, the process that stores last wins
    /// everywhere. If the route also receives values, it stores its own only if the broker has none.
    func lastValuesLost(on subject: String?) {
        let own = receives ? context.configuration.subject(of: name) : nil
        guard subject.map({ ExactText($0) }) == own.map({ ExactText($0) }) else { return }
        storeAgain()
    }

    /// Whether the value of a state may be stored. For a pattern, only a value that somebody has set is
    /// stored.
    private func mayStore(_ channel: StateChannel<State>) -> Bool { channel.wasSet || place.isOne }

    /// Stores the value of this process again.
    func storeAgain() {
        guarded.withLock { $0.isLost = sends && !$0.isClosed }
        bell.ring()
    }

    /// Stores the value again if it is lost. Only the task does this: a value set after it was read is then stored after
    /// it.
    private func storeIfLost() {
        guard guarded.withLock({ $0.isLost }) else { return }
        guarded.withLock { $0.isLost = false }
        guard let channel = place.find(), mayStore(channel) else { return }
        let current = Outgoing(value: channel.value, onlyIfNone: receives, isInitial: !channel.wasSet)
        _ = guarded.withLock { $0.sync.storeAgain(current) }
    }

    // MARK: From here

    /// Called by the listener, one value at a time.
    private func heard(_ value: State, _ origin: MessageOrigin, on channel: StateChannel<State>?) {
        let isInitial = guarded.withLock { guarded in
            defer { guarded.isInitial = false }
            return guarded.isInitial
        }
        // A value set on a state that has lost its name is not stored.
        guard origin != .local || channel.map({ (!isInitial || mayStore($0)) && place.find() === $0 }) ?? false else {
            return
        }
        let isUnset = isInitial && channel?.wasSet == false
        _ = guarded.withLock { guarded -> Outgoing? in
            // The broker's value replaces what was set here before. If the broker has none, the value here
            // becomes its first.
            if isInitial, guarded.hasStoredValue { return nil }
            guard origin == .local else { return guarded.sync.heardRemote() }
            let outgoing = Outgoing(value: value, onlyIfNone: isInitial && receives, isInitial: isUnset)
            return guarded.sync.setHere(outgoing)
        }
        bell.ring()
    }

    /// The attempts that have failed since a value was last stored.
    private struct Attempts {
        var count = 0
        var wereDenied = false
    }

    private func store(_ outgoing: Outgoing, _ attempts: inout Attempts) async {
        var outgoing = outgoing
        do {
            try await context.isReady.wait()
            var message = try outgoing.message ?? pack(outgoing.value)
            if outgoing.isInitial, receives { message.headers.setValid("true", for: EventEnvelope.Header.initial) }
            outgoing.message = message
            let id = message.headers[TransportHeaders.id]
            guarded.withLock { $0.newestOwn = id }
            let revision =
                outgoing.onlyIfNone
                ? try await context.transport.storeIfNone(message) : try await context.transport.store(message)
            attempts = Attempts()
            // Another process was faster. Its value will arrive here.
            guard let revision else { return guarded.withLock { $0.sync.replaced() } }
            context.count(\.sent)
            guarded.withLock { $0.sync.stored(revision) }
        } catch {
            let error = BridgeError.from(error, subject: name)
            // The permission may be granted while the connection lasts, and the broker does not announce
            // that.
            let isDenied = error.code.disposition == .reconfigure && !context.isEnding.isOpen
            guard error.code.disposition == .wait || isDenied else {
                // Reported, because the value remains in this process only.
                _ = guarded.withLock { $0.sync.refused(outgoing) }
                return context.lose(error, \.failed)
            }
            attempts.count += 1
            let isNew = isDenied && !attempts.wereDenied
            attempts.wereDenied = isDenied
            if isNew || attempts.count % BridgeConfiguration.attemptsPerFault == 0 { context.lose(error, \.failed) }
            let delay = context.configuration.pause(before: attempts.count)
            if isDenied {
                _ = guarded.withLock { $0.sync.refused(outgoing) }
                tryAgain(after: delay)
            } else {
                _ = guarded.withLock { $0.sync.postponed(outgoing) }
                try? await withTimeLimit(delay, clock: context.configuration.clock) { await self.restored.wait() }
            }
        }
    }

    /// Schedules another attempt to store a value that was denied. A value from another process may replace
    /// it meanwhile.
    private func tryAgain(after delay: Duration) {
        let isFirst = guarded.withLock { guarded in
            defer { guarded.isToBeTriedAgain = true }
            return !guarded.isToBeTriedAgain
        }
        guard isFirst else { return }
        Task { [self] in
            await context.isEnding.wait(atMost: delay, clock: context.configuration.clock)
            guarded.withLock { $0.isToBeTriedAgain = false }
            connectionIsBack()
        }
    }

    private func pack(_ value: State) throws -> TransportMessage {
        let body = try format.encode(value, for: name)
        return try context.message(body, context.envelope(format).headers, to: name)
    }

    // MARK: From the broker

    /// Called by the transport.
    func arrived(_ value: StoredValue) {
        _ = guarded.withLock { guarded in
            guarded.hasStoredValue = true
            return guarded.sync.arrived(value, revision: value.revision)
        }
        bell.ring()
    }

    private func apply(_ value: StoredValue) async {
        do {
            let arrival = try Arrival(headers: value.message.headers, body: value.message.body, subject: name)
            guard !isEcho(value.message, from: arrival.envelope.source) else { return context.count(\.echoes) }
            let state = try arrival.decode(State.self, format)
            let channel = try place.make(state)
            listen(to: channel, isInitial: true)
            // Another thread may be registering the listener, which has to receive this value.
            while !abandoned.isOpen, guarded.withLock({ $0.registering > 0 }) { await bell.wait() }
            guarded.withLock { $0.sync.applying() }
            let isInitial = sends && value.message.headers[EventEnvelope.Header.initial] != nil
            let isSet = await TraceContext.withCurrent(arrival.envelope.trace) {
                if isInitial { return channel.setInitial(state, from: arrival.origin) }
                channel.set(state, from: arrival.origin)
                return true
            }
            guard isSet else {
                // A value set here before the bridge ran replaces one that nobody has set. A value set since
                // then replaces this one.
                let own = Outgoing(value: channel.value)
                _ = guarded.withLock { guarded in
                    guarded.sync.notApplied()
                    return guarded.sync.storeAgain(own)
                }
                return
            }
            guarded.withLock { $0.newestOwn = nil }
            context.count(\.received)
        } catch {
            let error = BridgeError.from(error, subject: name)
            context.lose(error, \.refused)
            hasCaughtUp.open()
            await context.onDeadLetter?(DeadLetter(message: value.message, error: error))
        }
    }

    /// Whether the state already has a value that arrives.
    ///
    /// An older value of this process may also be the broker's last: an earlier run stored it, or an older copy of the
    /// storage was restored.
    private func isEcho(_ message: TransportMessage, from source: String?) -> Bool {
        source == context.source && message.headers[TransportHeaders.id] == guarded.withLock { $0.newestOwn }
    }
}
