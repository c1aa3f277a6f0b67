internal import Channels

/// Delivers the messages of an incoming route to the switchboard, and settles durable ones. Only one task
/// uses it.
struct IncomingDelivery: Sendable {
    /// Decodes a message and returns what delivers it.
    typealias Decode = @Sendable (Arrival) throws -> Deliver
    typealias Deliver = @Sendable (_ onEnd: (@Sendable () -> Void)?) async throws -> DeliveryReport

    /// The durable name at the broker.
    let durableName: String
    private let context: BridgeContext
    private let pattern: ChannelPattern
    /// The patterns of routes that take precedence.
    private let earlier: [ChannelPattern]
    private let decode: Decode
    private let options: BridgeRoute.Options
    /// Messages that are not durable and that listeners have yet to finish.
    private let unfinished: InFlight
    /// The durable messages that were delivered, and how often others could not be handled.
    private var delivered: RecentMessages<UInt64>
    private var failures: RecentMessages<Int>
    /// How many deliveries in a row have failed.
    private var failuresInARow = 0
    /// Whether a fault has been raised because only sequences receive the messages.
    private var hasWarned = false

    /// - Parameter window: How many messages to remember.
    init(
        _ context: BridgeContext,
        _ options: BridgeRoute.Options,
        _ pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        window: Int,
        _ unfinished: InFlight,
        _ decode: @escaping Decode
    ) {
        (self.context, self.options, self.unfinished, self.decode) = (context, options, unfinished, decode)
        (self.pattern, self.earlier) = (pattern, earlier)
        durableName = options.durableName(in: context.name).text
        delivered = RecentMessages(limit: window)
        failures = RecentMessages(limit: window)
    }

    /// - Parameter charge: The charge of a message that is not durable, held until its listeners have
    ///   finished.
    mutating func deliver(_ inbound: InboundMessage, _ charge: Charge?) async {
        if inbound.isOver?.isOpen == true { return }
        let message = inbound.message
        let name = context.configuration.name(ofSubject: message.subject)
        // A letter that this route does not name, or a message that another route of this bridge delivers.
        let isElsewhere = earlier.contains { $0.matches(name) && $0.delivers(message) }
        guard !isElsewhere, pattern.delivers(message) else {
            inbound.settle?(.acknowledged)
            return
        }
        guard message.isMeant(for: inbound.settle == nil ? nil : durableName) else {
            return settle(inbound, .acknowledged, \.duplicates)
        }
        do {
            if let problem = inbound.problem { throw problem }
            var arrival = try Arrival(headers: message.headers, body: message.body, subject: name)
            arrival.delivery = inbound.delivery(of: arrival.envelope)
            guard options.takesOwn || arrival.envelope.source != context.source else {
                return settle(inbound, .acknowledged, \.echoes)
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
            try await deliverDurably(inbound, arrival)
        } catch {
            await refuse(inbound, BridgeError.from(error, subject: name))
        }
    }

    // MARK: Durable messages

    /// Whether a message may have ended the processes that received it: it was delivered several times, and never
    /// finished here. It has to be delivered alone, so that others do not share its fate.
    func mayEndProcesses(_ inbound: InboundMessage) -> Bool {
        inbound.settle != nil && inbound.deliveryCount > 3 && failures[inbound] == nil
    }

    /// How long to wait before the next message, because listeners only fail; nil if they do not.
    /// The first pauses are short, because perhaps only these messages fail, and others are behind them.
    var pause: Duration? { failuresInARow > 15 ? .microseconds(20 * min(failuresInARow, 500)) : nil }

    private mutating func deliverDurably(_ inbound: InboundMessage, _ arrival: Arrival) async throws {
        let identity = arrival.identity
        guard !isDuplicate(inbound, identity) else { return settle(inbound, .acknowledged, \.duplicates) }
        let (before, backoff) = (failures[inbound], context.configuration.backoff)
        if before == nil, let limit = context.configuration.deliveryLimit, inbound.deliveryCount > limit {
            let detail = "the broker has delivered it \(inbound.deliveryCount) times, the deliveryLimit is \(limit)"
            throw BridgeError(.tooManyFailures, subject: arrival.subject, detail: detail)
        }
        let deliver: Deliver
        do { deliver = try decode(arrival) } catch {
            return try retryUndecodable(inbound, BridgeError.from(error, subject: arrival.subject))
        }
        let report = try await TraceContext.withCurrent(arrival.envelope.trace) { try await deliverInTime(deliver) }
        let ended = report.completedCount + report.failures.count + report.droppedCount + report.discardedCount
        if ended < report.reachedCount, Task.isCancelled { return context.count(\.unfinished) }
        if report.bufferedCount > 0, report.bufferedCount == report.reachedCount { warn(arrival.subject) }
        let hasFailed = !report.failures.isEmpty || ended < report.reachedCount
        guard hasFailed || report.droppedCount > 0 else {
            failuresInARow = 0
            guard inbound.context?.isSettledByListener != true else {
                // If the transaction was committed, this changes nothing. Otherwise, the listener has failed.
                let count = (before ?? 0) + 1
                failures[inbound] = count
                guard count < context.configuration.failureLimit else {
                    let cause = BridgeError(.refused, detail: "a transaction was rolled back")
                    throw tooMany(count, arrival.subject, cause)
                }
                return settle(inbound, .retry(after: backoff.delay(before: count)), \.received)
            }
            failures[inbound] = nil
            if let identity { delivered.add(identity, number: inbound.sequence) }
            return settle(inbound, .acknowledged, \.received)
        }
        // A full buffer is temporary; only an error or a timeout of a listener counts as a failure.
        failuresInARow += 1
        let count = (before ?? 0) + (hasFailed ? 1 : 0)
        failures[inbound] = count
        guard count < context.configuration.failureLimit else {
            let limit = context.configuration.listenerTimeout
            let late = BridgeError(.timedOut, detail: "listeners did not finish within \(limit ?? .zero)")
            throw tooMany(count, arrival.subject, report.failures.first?.error ?? late)
        }
        let pause = context.configuration.pause(before: inbound.deliveryCount)
        // Those behind it have their turn first: it stays away for at least twice as long as all pauses took.
        let turn = min((self.pause ?? .zero) * failuresInARow * 2, .seconds(30), backoff.limit)
        settle(inbound, .retry(after: hasFailed ? max(backoff.delay(before: count), turn) : pause), \.retried)
    }

    private func tooMany(_ count: Int, _ subject: String, _ cause: any Error) -> BridgeError {
        let detail = "listeners failed \(count) times, the failureLimit"
        return BridgeError(.tooManyFailures, subject: subject, detail: detail, underlyingError: cause)
    }

    /// Reports once that messages are acknowledged before their reader has them. If there is also a listener,
    /// a sequence is taken to be an observer, and nothing is reported.
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

    /// Returns a message that cannot be decoded to the broker, so that others come first, and a newer process
    /// may receive it.
    ///
    /// - Throws: The error, if the broker has delivered the message often enough, to any process.
    private mutating func retryUndecodable(_ inbound: InboundMessage, _ error: BridgeError) throws {
        guard inbound.deliveryCount <= options.undecodableRetries else { throw error }
        // Remembered as failed, so that a later message with its identifier does not make it a duplicate.
        failures[inbound] = failures[inbound] ?? 0
        // Reported the first time, and not only once the message is given up.
        if inbound.deliveryCount == 1 { context.report(error) }
        settle(inbound, .retry(after: context.configuration.backoff.delay(before: inbound.deliveryCount)), \.retried)
    }

    /// Whether a message was delivered before, or is a second copy of one that was.
    ///
    /// While a message is being retried, whoever has seen it can publish its identifier again, with another
    /// body. Such a later message must not make the earlier one a duplicate. If the transport has no numbers,
    /// a message that has failed here is known not to be a duplicate.
    private func isDuplicate(_ inbound: InboundMessage, _ identity: MessageKey?) -> Bool {
        guard let identity, delivered.contains(identity, number: inbound.sequence) else { return false }
        return inbound.sequence != nil || failures[inbound] == nil
    }

    /// Delivers a durable message, and waits for its listeners no longer than the configuration allows. If
    /// the wait is cancelled, it returns the report so far.
    private func deliverInTime(_ deliver: @escaping Deliver) async throws -> DeliveryReport {
        guard let limit = context.configuration.listenerTimeout else { return try await deliver(nil) }
        return try await withTimeLimit(limit, clock: context.configuration.clock) { try await deliver(nil) }
    }

    private func settle(
        _ inbound: InboundMessage,
        _ settlement: Settlement,
        _ counter: WritableKeyPath<BridgeStatistics, Int>
    ) {
        context.count(counter)
        inbound.settle?(settlement)
    }

    private mutating func refuse(_ inbound: InboundMessage, _ error: BridgeError) async {
        let letter = DeadLetter(message: inbound.message, error: error, deliveryCount: inbound.deliveryCount)
        let count = failures[inbound] ?? 0
        if inbound.settle != nil {
            do {
                if try await !context.keep(letter, of: inbound, for: durableName) {
                    // A listener has committed its settlement after all, or another process has the message
                    // now.
                    failures[inbound] = nil
                    return context.count(inbound.context?.isSettledByListener == true ? \.received : \.unfinished)
                }
            } catch {
                let error = BridgeError.from(error, subject: inbound.message.subject)
                context.report(error)
                // If the letter can never be stored, only the handler can keep it. Otherwise nothing is lost:
                // the message is delivered again, and its letter is stored then.
                guard error.code.disposition == .leaveOut, context.onDeadLetter != nil else {
                    let delay = context.configuration.backoff.delay(before: max(inbound.deliveryCount, count))
                    return settle(inbound, .retry(after: delay), \.retried)
                }
            }
            failures[inbound] = nil
        }
        context.lose(error, \.refused)
        await context.onDeadLetter?(letter)
        inbound.settle?(.terminated)
    }
}
