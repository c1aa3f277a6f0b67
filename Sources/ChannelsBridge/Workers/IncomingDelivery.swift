internal import Channels

/// Delivers the messages of an incoming route to the switchboard, and settles those that are durable. Used by one
/// task.
struct IncomingDelivery: Sendable {
    /// Decodes a message and returns what delivers it.
    typealias Decode = @Sendable (Arrival) throws -> Deliver
    typealias Deliver = @Sendable (_ onEnd: (@Sendable () -> Void)?) async throws -> DeliveryReport

    /// The durable name at the broker.
    let durableName: String
    private let context: BridgeContext
    /// The patterns of routes that take precedence.
    private let earlier: [ChannelPattern]
    private let decode: Decode
    private let options: BridgeRoute.Options
    /// Messages that are not durable and are with their listeners.
    private let unfinished: InFlight
    /// The durable messages that were delivered, and how often the others could not be handled.
    private var delivered: RecentMessages<UInt64>
    private var failures: RecentMessages<Int>
    /// Whether it was reported that only sequences receive what comes.
    private var hasWarned = false

    /// - Parameter window: How many messages it remembers.
    init(
        _ context: BridgeContext,
        _ options: BridgeRoute.Options,
        shadowedBy earlier: [ChannelPattern],
        window: Int,
        _ unfinished: InFlight,
        _ decode: @escaping Decode
    ) {
        (self.context, self.options, self.earlier, self.unfinished) = (context, options, earlier, unfinished)
        self.decode = decode
        durableName = options.group?.text ?? context.name
        delivered = RecentMessages(limit: window)
        failures = RecentMessages(limit: window)
    }

    /// - Parameter charge: The charge of a message that is not durable, until its listeners have finished.
    mutating func deliver(_ inbound: InboundMessage, _ charge: Charge?) async {
        let message = inbound.message
        let name = context.configuration.name(ofSubject: message.subject)
        var identity: MessageKey?
        do {
            if let problem = inbound.problem { throw problem }
            var arrival = try Arrival(headers: message.headers, body: message.body, subject: name)
            arrival.delivery = inbound.delivery(of: arrival.envelope)
            guard options.takesOwn || arrival.envelope.source != context.source else {
                return settle(inbound, .acknowledged, \.echoes)
            }
            // Another route of this bridge delivers it.
            guard !earlier.contains(where: { $0.matches(name) }) else {
                inbound.settle?(.acknowledged)
                return
            }
            guard inbound.settle != nil else {
                let deliver = try decode(arrival)
                let part = InFlight.Part(of: unfinished, charge)
                _ = try await TraceContext.withCurrent(arrival.envelope.trace) {
                    try await deliver { withExtendedLifetime(part) {} }
                }
                part.begin()
                return context.count(\.received)
            }
            identity = arrival.identity
            try await deliverDurably(inbound, arrival, identity)
        } catch {
            await refuse(inbound, identity, BridgeError.from(error, subject: name))
        }
    }

    // MARK: Durable messages

    private mutating func deliverDurably(
        _ inbound: InboundMessage,
        _ arrival: Arrival,
        _ identity: MessageKey?
    ) async throws {
        // Known, or put back for the listeners of another name, which had failed.
        guard !isDuplicate(inbound, identity), isMeant(inbound.message) else {
            return settle(inbound, .acknowledged, \.duplicates)
        }
        if let limit = context.configuration.deliveryLimit, inbound.deliveryCount > limit {
            let detail = "the broker has delivered it \(inbound.deliveryCount) times, the deliveryLimit is \(limit)"
            throw BridgeError(.tooManyFailures, subject: arrival.subject, detail: detail)
        }
        let key = key(of: inbound, identity)
        let deliver: Deliver
        do { deliver = try decode(arrival) } catch {
            return try retryUndecodable(inbound, BridgeError.from(error, subject: arrival.subject), key)
        }
        let report = try await TraceContext.withCurrent(arrival.envelope.trace) { try await deliverInTime(deliver) }
        let ended = report.completedCount + report.failures.count + report.droppedCount + report.discardedCount
        if ended < report.reachedCount, Task.isCancelled { return context.count(\.unfinished) }
        if report.bufferedCount > 0, report.bufferedCount == report.reachedCount { warn(arrival.subject) }
        let hasFailed = !report.failures.isEmpty || ended < report.reachedCount
        guard hasFailed || report.droppedCount > 0 else {
            failures[key] = nil
            if let identity, inbound.context?.isSettledByListener != true {
                delivered.add(identity, number: inbound.sequence)
            }
            return settle(inbound, .acknowledged, \.received)
        }
        // A full buffer is temporary; only an error or a timeout of a listener counts as a failure.
        let count = (failures[key] ?? 0) + (hasFailed ? 1 : 0)
        failures[key] = count
        guard count < context.configuration.failureLimit else {
            let limit = context.configuration.listenerTimeout
            let late = BridgeError(.timedOut, detail: "listeners did not finish within \(limit ?? .zero)")
            let (detail, cause) = (
                "listeners failed \(count) times, the failureLimit", report.failures.first?.error ?? late
            )
            throw BridgeError(.tooManyFailures, subject: arrival.subject, detail: detail, underlyingError: cause)
        }
        settle(inbound, .retry(after: context.configuration.backoff.delay(before: max(count, 1))), \.retried)
    }

    /// Says once that messages are acknowledged before their reader has them. Beside a listener, a sequence may watch.
    private mutating func warn(_ subject: String) {
        guard !hasWarned else { return }
        hasWarned = true
        let detail = """
            only a sequence receives the messages of this durable route, and what is in its buffer counts as handled: it is lost if the \
            process ends. Instead of `for await message in channel.messages() { … }` write \
            `channel.listen(self) { me, message in … }`, whose closure may be async and throw
            """
        context.report(BridgeError(.unsupported, subject: subject, detail: detail))
    }

    /// Returns a message that cannot be decoded: others come first, and a newer process has its turn.
    ///
    /// - Throws: The error, if the broker has delivered it often enough, to whichever process.
    private mutating func retryUndecodable(
        _ inbound: InboundMessage,
        _ error: BridgeError,
        _ key: MessageKey
    ) throws {
        guard inbound.deliveryCount <= options.undecodableRetries else { throw error }
        // No duplicate of a later one.
        failures[key] = failures[key] ?? 0
        // Known at once, and not only when it is given up.
        if inbound.deliveryCount == 1 { context.report(error) }
        settle(inbound, .retry(after: context.configuration.backoff.delay(before: inbound.deliveryCount)), \.retried)
    }

    /// Whether a message was delivered, or is stored once more.
    ///
    /// Whoever has seen a message can publish its identifier again, with another body, while it is being retried.
    /// So a later one never makes it a duplicate. Without numbers, one that failed here is known not to be one.
    private func isDuplicate(_ inbound: InboundMessage, _ identity: MessageKey?) -> Bool {
        guard let identity, delivered.contains(identity, number: inbound.sequence) else { return false }
        return inbound.sequence != nil || failures[key(of: inbound, identity)] == nil
    }

    private func isMeant(_ message: TransportMessage) -> Bool {
        message.headers[DeadLetterHeader.name].map { $0 == durableName.percentEncoded } ?? true
    }

    /// Delivers a durable message, and waits for its listeners no longer than the configuration allows; a
    /// cancelled wait returns the report so far.
    private func deliverInTime(_ deliver: @escaping Deliver) async throws -> DeliveryReport {
        guard let limit = context.configuration.listenerTimeout else { return try await deliver(nil) }
        return try await withTimeLimit(limit, clock: context.configuration.clock) { try await deliver(nil) }
    }

    /// What identifies a durable message at the broker, or by its envelope.
    private func key(of inbound: InboundMessage, _ identity: MessageKey?) -> MessageKey {
        inbound.identity.map { MessageKey($0) } ?? identity ?? MessageKey("")
    }

    private func settle(
        _ inbound: InboundMessage,
        _ settlement: Settlement,
        _ counter: WritableKeyPath<BridgeStatistics, Int>
    ) {
        context.count(counter)
        inbound.settle?(settlement)
    }

    private mutating func refuse(
        _ inbound: InboundMessage,
        _ identity: MessageKey?,
        _ error: BridgeError
    ) async {
        let letter = DeadLetter(message: inbound.message, error: error, deliveryCount: inbound.deliveryCount)
        let count = failures[key(of: inbound, identity)] ?? 0
        if inbound.settle != nil {
            do {
                if try await !context.keep(letter, of: inbound, for: durableName) {
                    // A listener has committed it after all, or it was lost to another process, which handles it.
                    failures[key(of: inbound, identity)] = nil
                    return context.count(inbound.context?.isSettledByListener == true ? \.received : \.unfinished)
                }
            } catch {
                let error = BridgeError.from(error, subject: inbound.message.subject)
                context.report(error)
                // What can never be stored, only the handler can keep. Anything else is not lost: it comes again, and
                // its letter is stored then.
                guard error.code.disposition == .leaveOut, context.onDeadLetter != nil else {
                    let delay = context.configuration.backoff.delay(before: max(inbound.deliveryCount, count))
                    return settle(inbound, .retry(after: delay), \.retried)
                }
            }
            failures[key(of: inbound, identity)] = nil
        }
        context.lose(error, \.refused)
        await context.onDeadLetter?(letter)
        inbound.settle?(.terminated)
    }
}
