#if NATS
import Channels
import ChannelsBridge

/// Whoever had messages before may be gone: another process of the name, or a connection of this one.
extension DurableSubscription {
    var processes: Presence {
        Presence(jetStream, connection, stream: request.streamName, consumer: request.config.durableName)
    }

    /// Creates the consumer, finds what others have not settled, and takes it back if they are gone.
    func takeOver() async throws -> Takeover<Arrival> {
        // In this order: whoever has a message when the consumer is looked at can be asked for afterwards, because
        // it has told that it lives before it asked for messages.
        let epoch = connection.epoch
        if !request.beginsWithTheFirst {
            let origin = try await streamNow()
            state.withLock { $0.origin = origin }
        }
        let found = try await createConsumer(request)
        let isFree = if found.unsettled > 0 { await processes.isNobodyThere() } else { false }
        let areTakenBack =
            if try await begin(where: isFree)?.lastDelivery == found.lastDelivery {
                await processes.takeBack(found, onConnection: epoch)
            } else {
                false
            }
        state.withLock { state in
            if found.unsettled == 0 || areTakenBack {
                state.run.markAlone(upTo: found.lastDelivery)
            } else {
                state.run.markShared(upTo: found.lastDelivery)
            }
        }
        return Takeover(unsettled: found.unsettled, last: found.lastDelivered, areTakenBack: areTakenBack)
    }

    /// Tells others from now on that this process lives.
    ///
    /// - Parameter isFree: Whether there are no others.
    /// - Returns: What is delivered now, which others that have begun at the same time may have been given; nil
    ///   where there are others, or this process cannot tell that it lives: it would have its messages taken in turn.
    private func begin(where isFree: Bool) async throws -> ConsumerState? {
        let presence = try await processes.begin()
        let isClosed = state.withLock { state in
            state.tellsPresence = presence != nil
            // What is held has been given back.
            if state.isClosing, state.unsettled == nil { return true }
            state.presence = presence
            return false
        }
        if isClosed { await presence?.cancel() }
        return isFree && presence != nil ? try? await knownState() : nil
    }

    // MARK: After a loss of the connection

    /// The connection is back. Called before anything comes on it: the server may still answer what was asked for on
    /// the one before.
    func resume() {
        update { state in
            state.resumptions += 1
            state.findLost()
        }
    }

    /// What was asked for on an earlier connection is lost, and what was sent on it may be; the server may have lost
    /// the consumer.
    func restart() async throws {
        let other = state.withLock { state in
            state.isRestoring = true
            return state.restarting
        }
        defer { state.withLock { $0.isRestoring = false } }
        other?.cancel()
        await other?.value
        try await createAgain()
    }

    /// Creates the consumer, and restores what was lost with a connection. The caller makes sure that nobody else
    /// does so.
    func createAgain() async throws {
        let resumptions = update { state in
            state.findLost()
            return state.resumptions
        }
        do {
            let lost = try await takeBackLost()
            try update { state in
                // Lost once more: silence says nothing then, and the next attempt is to find the same.
                guard isCurrent(state, since: resumptions) else { throw BridgeError(.notConnected) }
                state.restore(lost)
                state.largest = connection.maxPayload
            }
        } catch {
            let isMissing = state.withLock { $0.tellsPresence && $0.presence == nil && !$0.isClosing }
            if isMissing, connection.isConnected { _ = try? await begin(where: false) }
            // Unless another attempt follows, which has to find them set aside.
            let passed = update { state in
                isCurrent(state, since: resumptions) && !Task.isCancelled ? state.stopFindingLost() : []
            }
            passOn(passed)
            throw error
        }
    }

    /// Whether the connection has not been lost meanwhile.
    private func isCurrent(_ state: State, since resumptions: Int) -> Bool {
        state.resumptions == resumptions && connection.isConnected
    }

    /// Creates the consumer, and takes back what was sent on a lost connection and has not come, where nobody else
    /// can have it.
    private func takeBackLost() async throws -> Lost {
        // What is settled meanwhile has been here, too, and is not to be taken back.
        var held = held
        // A negative acknowledgement that is sent later would take back what somebody has been given meanwhile.
        let epoch = connection.epoch
        var known = state.withLock { $0.run.lastSequence }
        let (request, origin) = try await requestAgain()
        var found = try await createConsumer(request)
        state.withLock { state in
            // Not before: another attempt has to find the same.
            state.origin = origin
            state.run.complete(&found, knownBefore: known)
        }
        // Held after the server has said that.
        var heldSince: Set<UInt64> = []
        if state.withLock({ $0.tellsPresence && $0.presence == nil }) { _ = try await begin(where: false) }
        for _ in 0..<Self.attempts {
            let current = self.held
            held.formUnion(current)
            heldSince.formUnion(current)
            known = state.withLock { $0.run.lastSequence }
            guard let presence = endPresence(ifLost: found, besides: current) else { break }
            // This process would take it for that of another one.
            await presence.cancel()
            guard var now = try await begin(where: await processes.isNobodyThere()) else {
                return Lost(found: found, held: held, heldSince: heldSince, isShared: true)
            }
            state.withLock { $0.run.complete(&now, knownBefore: known) }
            let stillHeld = self.held
            held.formUnion(stillHeld)
            if now.lastDelivery == found.lastDelivery {
                // Acknowledgements that were waiting for the connection have been processed by now. What has been
                // settled since does not count as missing in `now`, and must not be taken off once more.
                let count = now.missing(besides: stillHeld)
                guard count > 0, await processes.takeBack(now, except: held, onConnection: epoch) else { break }
                // This process may have been given more meanwhile, because of what it had asked for before.
                return Lost(found: now, held: held, count: count, lastEarlier: try await knownState().lastDelivery)
            }
            // What was asked for before the loss is still delivered.
            (found, heldSince) = (now, stillHeld)
            try await Task.sleep(for: Self.requestLife / 3)
        }
        return Lost(found: found, held: held, heldSince: heldSince)
    }

    /// What creates the consumer where the server has lost it, and the stream as it is then.
    private func requestAgain() async throws -> (ConsumerRequest, StreamIdentity?) {
        let (origin, last) = state.withLock { ($0.origin, $0.run.lastSequence) }
        guard let origin else { return (request, nil) }
        let now = try await streamNow()
        let known = max(origin.lastSequence, last)
        guard now.created == origin.created, now.lastSequence >= known else {
            // It has lost its messages, too: all that it has now is new.
            return (request.beginning(with: 1), StreamIdentity(created: now.created, lastSequence: 0, subjects: 0))
        }
        // What is new to this process, and not to the server.
        return (request.config.deliverPolicy == "new" ? request.beginning(with: known + 1) : request, origin)
    }

    private func streamNow() async throws -> StreamIdentity {
        do { return try await jetStream.identity(ofStream: request.streamName) } catch let refusal as Refusal {
            throw BridgeError(.unsupported, subject: request.config.filterSubject, refusal.description)
        }
    }

    /// - Returns: What has told others that this process lives, if a message or its acknowledgement was lost that
    ///   they cannot have, unless they have begun since.
    private func endPresence(ifLost found: ConsumerState, besides held: Set<UInt64>) -> NATSSubscription? {
        state.withLock { state in
            guard found.missing(besides: held) > 0, state.run.wasAlone(in: found), state.takeover.isAsking,
                !state.isClosing
            else { return nil }
            defer { state.presence = nil }
            return state.presence
        }
    }

    /// The requests that were made before the loss end in that time.
    private static let attempts = 5

    /// The sequences in the stream of the messages that this process has.
    private var held: Set<UInt64> { state.withLock { $0.held } }

    // MARK: While others keep messages

    /// Lets the messages come that earlier processes of the name have not settled, once nobody can keep them.
    func checkTakeover() {
        let wait = jetStream.configuration.deliveries.acknowledgementWait
        let hasWaited = state.withLock { state in
            guard !state.takeover.isOver, !state.isClosing else { return false }
            // The timers of the server are not exact either.
            if state.began.duration(to: .now) > wait + max(wait / 10, .milliseconds(250)) { return true }
            if state.takeover.isWaiting, state.looking == nil {
                state.looking = Task { [weak self] in
                    await self?.lookForOthers()
                    self?.state.withLock { $0.looking = nil }
                }
            }
            return false
        }
        if hasWaited { update { $0.takeover.endWait() } }
    }

    /// Ends the wait if other processes of the name have settled those messages, or live.
    private func lookForOthers() async {
        // A request of this process, or of one that was killed, has ended by then.
        let isQuiet = state.withLock { $0.lastAsked.duration(to: .now) > Self.requestLife * 2 }
        guard connection.isConnected, let found = try? await knownState() else { return }
        update { state in
            let isShared = isQuiet && found.requests > 0
            if isShared || state.takeover.areSettled(upTo: found.lastSettled) { state.takeover.endWait() }
        }
    }
}
#endif
